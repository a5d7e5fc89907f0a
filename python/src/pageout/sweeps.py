"""Sweeps: many runs, spread over processes or machines, which may be killed and go on."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

import msgspec
import tomli_w

from pageout import program
from pageout.records import File, Records, scratch

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Job(Protocol[T_co]):
    """What was submitted."""

    def result(self) -> T_co:
        """Wait for it; what it came to."""
        ...


class Executor(Protocol):
    """Who runs shards: an executor of `concurrent.futures`, of `submitit`, or `RayExecutor`."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Job[T]:
        """Run a function, now or later, here or elsewhere."""
        ...


class RayExecutor:
    """Runs shards as tasks of Ray, on its local workers or a cluster.

    Options are those of `ray.remote`, such as `num_cpus=4`. Ray is what the extra `pageout[ray]`
    installs, and is to be initialised before.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - Ray's
        self._options = options

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Job[T]:
        """Start a task."""
        import ray  # noqa: PLC0415 - large, and optional

        # Without a name of this module in it, for workers that do not have the package.
        task = ray.remote(lambda: fn(*args, **kwargs)).options(**self._options)
        job: Job[T] = task.remote().future()
        return job


class Failed(msgspec.Struct, frozen=True):
    """A cell that failed, and why."""

    id: str
    cell: str
    error: str


class Status(msgspec.Struct, frozen=True):
    """How far a sweep is: all of its cells, those with results, those that failed when last run.

    A cell whose result is damaged counts as failed.
    """

    cells: int
    done: int
    failed: list[Failed]

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return self.cells - self.done - len(self.failed)


class Sweep:
    """A sweep that is planned in a directory."""

    def __init__(self, directory: File) -> None:
        self.directory = Path(directory).absolute()

    def __repr__(self) -> str:
        return f"Sweep({str(self.directory)!r})"

    def run(
        self, executor: Executor | None = None, *, shards: int = 1, jobs: int | None = None
    ) -> Records:
        """Run what is left of the cells, and give the results of all.

        The executor gets `shards` jobs, each of which runs its part of the cells with this build of
        the program; without an executor they run here, one by one. A job runs so many cells at once
        as it has CPUs, or `jobs`. Raises `Error` with what failed; all that was done stays, and the
        next call goes on from there.
        """
        if shards < 1:
            message = f"shards: found {shards}, expected 1 or more"
            raise ValueError(message)
        words = ["sweep", "run", "--dir", str(self.directory)]
        words += [] if jobs is None else ["--jobs", str(jobs)]
        binary = str(program.path())
        commands = [[binary, *words, "--shard", f"{nr}/{shards}"] for nr in range(1, shards + 1)]
        failed = [end for end in _ends(executor, commands) if end.returncode]
        if failed:
            messages = (program.message_of(end.stderr, end.returncode) for end in failed)
            raise program.Error("\n".join(dict.fromkeys(messages)))
        return self.merge()

    def status(self) -> Status:
        """How many cells are done, failed and left."""
        words: list[str | Path] = ["sweep", "status", "--dir", self.directory, "--json"]
        return msgspec.json.decode(program.call(words).printed, type=Status)

    def merge(self, output: File | None = None, *, partial: bool = False) -> Records:
        """The results of all cells as one file of records, in the order of the plan.

        Also writes the file, if `output` names one. With `partial` it takes the cells that are
        done; without, it raises `Error` where some are not.
        """
        words: list[str | Path] = ["sweep", "merge", "--dir", self.directory]
        words += ["--partial"] if partial else []
        printed = program.call(words).printed
        if output is not None:
            Path(output).write_bytes(printed)
        return Records.from_json(printed)


def sweep(spec: File | Mapping[str, Any], directory: File | None = None) -> Sweep:
    """Plan a sweep: the file, or what such a file has (docs/sweeps.md), in a directory.

    The directory of a file is by default beside it, with its name: `limits` for `limits.toml`. It
    has to be shared by the machines that run shards. One that has the same plan is left as it is,
    so an interrupted sweep goes on. Cells that will fail do not hinder the others.
    """
    if isinstance(spec, Mapping):
        if directory is None:
            message = "a sweep that is no file needs a directory"
            raise TypeError(message)
        with scratch() as folder:
            path = Path(folder, "spec.toml")
            path.write_text(tomli_w.dumps(spec))
            return _planned(path, directory)
    return _planned(Path(spec), Path(spec).with_suffix("") if directory is None else directory)


def _planned(spec: Path, directory: File) -> Sweep:
    planned = Sweep(directory)
    program.call(["sweep", "plan", spec, "--dir", planned.directory])
    return planned


def _ends(
    executor: Executor | None, commands: Sequence[Sequence[str]]
) -> list[subprocess.CompletedProcess[str]]:
    """Run all commands; those of an executor at once, as far as it does.

    A worker needs the program and no part of this package.
    """
    run = partial(
        subprocess.run,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    if executor is None:
        return [run(command) for command in commands]
    # Submitit makes one array of Slurm of what is mapped so.
    map_array = getattr(executor, "map_array", None)
    jobs: list[Job[subprocess.CompletedProcess[str]]] = (
        map_array(run, commands) if map_array else [executor.submit(run, of) for of in commands]
    )
    return [job.result() for job in jobs]
