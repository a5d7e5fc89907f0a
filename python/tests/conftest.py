"""What tests share."""

from pathlib import Path

import pytest

from pageout import Trace, program

#: A program that uses eight pages all the time, and sweeps over 56 others: replayed at once.
_ACCESSES = 4096


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A trace of 64 pages."""
    folder = tmp_path_factory.mktemp("trace")
    log, path = folder / "accesses.txt", folder / "small.pgt"
    pages = [i // 2 % 8 if i % 2 == 0 else 8 + i // 2 % 56 for i in range(_ACCESSES)]
    kinds = ["S", "L"]
    log.write_text("".join(f" {kinds[i % 2]} {page << 12:08x},8\n" for i, page in enumerate(pages)))
    program.call(["trace", "import", "--epoch", "128", log, "--output", path])
    return Trace(path)


@pytest.fixture
def limits(tmp_path: Path, small: Trace) -> Path:
    """A file that describes a sweep of twelve cells."""
    path = tmp_path / "limits.toml"
    path.write_text(f"""\
scenario = "trace"
trace = "{small.name}"
variants = ["lru=classic", "lru=mglru"]

[fields]
format = "x86-64"
order = 0

[grid]
limit = ["50%..80%:10%"]
seed = [1, 2, 3]
""")
    return path
