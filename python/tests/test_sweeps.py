"""Sweeps give the same bytes, whoever runs their shards."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pageout
from pageout import program


def uninterrupted(spec: Path, folder: Path) -> bytes:
    """What the program alone makes of it, with one run."""
    directory, merged = folder / "alone", folder / "alone.json"
    program.call(["sweep", "plan", spec, "--dir", directory])
    program.call(["sweep", "run", "--dir", directory])
    program.call(["sweep", "merge", "--dir", directory, "--output", merged])
    return merged.read_bytes()


def assert_the_same(
    spec: Path, executor: pageout.Executor | None, shards: int, folder: Path
) -> None:
    """The merged bytes are those of one run of the program."""
    sweep = pageout.sweep(spec, folder / "spread")
    records = sweep.run(executor, shards=shards, jobs=1)
    assert sweep.status() == pageout.Status(cells=12, done=12, failed=[])
    merged = folder / "spread.json"
    sweep.merge(merged)
    assert merged.read_bytes() == uninterrupted(spec, folder)
    assert len(records) == 24


def test_here(limits: Path, tmp_path: Path) -> None:
    assert_the_same(limits, None, 1, tmp_path)


def test_in_local_processes(limits: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert_the_same(limits, executor, 4, tmp_path)


def test_by_submitit(limits: Path, tmp_path: Path) -> None:
    submitit = pytest.importorskip("submitit")
    executor = submitit.LocalExecutor(tmp_path / "logs")
    executor.update_parameters(timeout_min=5)
    assert_the_same(limits, executor, 4, tmp_path)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local workers of Ray."""
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir="/tmp/ray-pageout")
    yield
    ray.shutdown()


# Ray itself warns of what it will change.
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("cluster")
def test_by_ray(limits: Path, tmp_path: Path) -> None:
    assert_the_same(limits, pageout.RayExecutor(num_cpus=1), 4, tmp_path)


#: Plans a sweep and runs it, in a process of its own.
_RUN = "import sys, pageout; pageout.sweep(sys.argv[1], sys.argv[2]).run(jobs=1)"


def killed(spec: Path, directory: Path, after: int) -> dict[str, int]:
    """Begin a sweep in another Python and kill that, with the program, once so many cells are done.

    Gives the files of those that are done, with their inodes.
    """
    sources = Path(pageout.__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, "-c", _RUN, spec, directory],
        env={**os.environ, "PYTHONPATH": str(sources)},
        # A group of its own: the program that this Python runs dies with it.
        start_new_session=True,
    ) as run:
        while len(finished(directory)) < after and run.poll() is None:
            time.sleep(0.001)
        os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == -signal.SIGKILL
    return finished(directory)


def finished(directory: Path) -> dict[str, int]:
    """The results of cells that are done: what is being written begins with a dot."""
    return {path.name: path.stat().st_ino for path in directory.glob("results/[!.]*")}


def test_a_process_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    spec = tmp_path / "many.toml"
    spec.write_text(f"""\
scenario = "reclaim-file"
ground = "model"
variants = ["young=batched", "young=line"]

[fields]
format = "x86-64"
order = 0
size = "64KiB"

[grid]
seed = {list(range(1, 201))}
""")
    directory = tmp_path / "killed"
    done = killed(spec, directory, after=25)
    assert 25 <= len(done) < 200, "it was killed in the middle"

    sweep = pageout.sweep(spec, directory)
    assert sweep.status() == pageout.Status(cells=200, done=len(done), failed=[])
    with pytest.raises(pageout.Error, match="of 200 cells"):
        sweep.merge()
    sweep.run(jobs=1)
    assert finished(directory).items() >= done.items(), "what was done is not done again"
    merged = tmp_path / "killed.json"
    sweep.merge(merged)
    assert merged.read_bytes() == uninterrupted(spec, tmp_path)


def test_a_specification_may_be_data(limits: Path, tmp_path: Path) -> None:
    spec = tomllib.loads(limits.read_text())
    merged = pageout.sweep(spec, tmp_path / "data").run()
    assert merged.file == pageout.sweep(limits).run().file
    assert (tmp_path / "limits" / "sweep.json").exists(), "beside the file, with its name"
    with pytest.raises(TypeError, match="directory"):
        pageout.sweep(spec)


def test_what_fails_is_told_and_loses_nothing(tmp_path: Path) -> None:
    spec = {
        "scenario": "aging-rounds",
        "fields": {"format": "x86-64", "order": 4, "rounds": 1},
        "grid": {"size": ["1MiB", "8MiB"], "access": ["10%", "20%"]},
    }
    sweep = pageout.sweep(spec, tmp_path / "spread")
    with ThreadPoolExecutor(2) as executor, pytest.raises(pageout.Error, match="64 folios") as told:
        sweep.run(executor, shards=2)
    assert str(told.value).count("size=1MiB") == 2
    status = sweep.status()
    assert (status.cells, status.done, len(status.failed), status.left) == (4, 2, 2, 0)
    with pytest.raises(pageout.Error, match="2"):
        sweep.merge()
    assert {(one.fields or {})["size"] for one in sweep.merge(partial=True)} == {"8MiB"}


def test_a_bad_specification_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pageout.Error, match="nonsense"):
        pageout.sweep({"scenario": "nonsense", "grid": {"order": [0]}}, tmp_path / "d")
    with pytest.raises(pageout.Error, match="grid"):
        pageout.sweep({"scenario": "trace", "grid": {}}, tmp_path / "d")
    assert not (tmp_path / "d").exists()
