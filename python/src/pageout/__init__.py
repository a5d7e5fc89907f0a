"""Page aging and reclaim outside any kernel, from Python.

Everything here asks the program `pageout`, which comes in the same wheel. Nothing is computed a
second time. What it answers are records, which become Polars frames and Altair pictures.
"""

from importlib import metadata

from pageout import pictures, program, schema
from pageout.comparison import Comparison, compare
from pageout.program import Error
from pageout.records import Records, read
from pageout.scenarios import run
from pageout.sweeps import Executor, RayExecutor, Status, Sweep, sweep
from pageout.traces import Trace, TraceInfo

__all__ = [
    "Comparison",
    "Error",
    "Executor",
    "RayExecutor",
    "Records",
    "Status",
    "Sweep",
    "Trace",
    "TraceInfo",
    "compare",
    "pictures",
    "read",
    "run",
    "schema",
    "sweep",
]


def __getattr__(name: str) -> str:
    """Give `__version__`: the package's, or of sources that are not installed the program's."""
    if name != "__version__":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    try:
        return metadata.version("pageout")
    except metadata.PackageNotFoundError:
        return program.version()
