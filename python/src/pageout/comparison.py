"""What can be said of one variant, or build, against another."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import polars as pl

from pageout import program
from pageout.records import File, Records, as_file, scratch

#: Records, and the name that they are compared by, if they have one.
Named: TypeAlias = tuple[str | None, Records | File]

#: Rows without a number for it have nothing there.
_SCHEMA: dict[str, type[pl.DataType]] = {
    "metric": pl.String,
    "unit": pl.String,
    "basis": pl.String,
    "better": pl.String,
    "role": pl.String,
    "variant": pl.String,
    "is_base": pl.Boolean,
    "n": pl.Int64,
    "median": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
    "percent": pl.Float64,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "verdict": pl.String,
}


class Comparison:
    """Records compared with a base: medians, intervals, changes, tests and verdicts.

    All of it is the program's, and the same as in its tables.
    """

    def __init__(
        self, records: Sequence[Named], options: Sequence[str], tables: Sequence[dict[str, Any]]
    ) -> None:
        self._records = records
        self._options = options
        self._tables = tables

    def __str__(self) -> str:
        """The tables that the program prints."""
        return _call("compare", self._records, self._options).printed.decode()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401 - IPython's
        """Show the tables in a notebook."""
        printer.text("Comparison(...)" if cycle else str(self))

    def frame(self) -> pl.DataFrame:
        """Every figure, a row for each variant; `percent` is positive where it is better.

        `p_holm` is corrected over the figures that are judged, or over all others, and `verdict`
        rests on it. They are empty for the base. `role` says which figures are judged: `whole`.
        Fields are columns `field.NAME`, as text.
        """
        rows = [row for table in self._tables for row in _rows(table["comparison"])]
        fields = sorted({name for row in rows for name in row if name.startswith("field.")})
        start: dict[str, type[pl.DataType]] = {
            "scenario": pl.String,
            "ground": pl.String,
            "seed": pl.UInt64,
        }
        return pl.DataFrame(rows, schema=start | dict.fromkeys(fields, pl.String) | _SCHEMA)

    def is_worse(self, condition: str) -> bool | None:
        """Whether some variant is shown to be worse, as `3%` or `refaults>3%` says.

        False where none is. None where that cannot be decided for all: there are not enough runs.
        """
        options = [*self._options, "--fail-on", condition]
        status = _call("compare", self._records, options, accepted=(0, 1, 125)).status
        return {0: False, 1: True, 125: None}[status]

    def write_html(self, path: File) -> None:
        """Write a page to look at, which needs no network."""
        _call("report", self._records, [*self._options, "--output", str(path)])


def compare(
    *records: Records | File,
    labels: Iterable[tuple[str, Records | File]] = (),
    base: str | None = None,
    pool: bool = False,
) -> Comparison:
    """Compare the variants of records, or records by names that are given to them.

    `labels` are pairs of a name and records, in the order in which they ran. Those of one name are
    runs of one thing, and the first name is the base: before and after of one build. With `pool`,
    samples of one variant are one though their runs differ in commit or machine.
    """
    named: list[Named] = [*((None, of) for of in records), *labels]
    options = [] if base is None else ["--base", base]
    options += ["--pool"] if pool else []
    with scratch() as folder:
        path = Path(folder, "comparison.json")
        _call("report", named, [*options, "--json", "--output", str(path)])
        return Comparison(named, options, msgspec.json.decode(path.read_bytes()))


def _call(
    command: str, records: Sequence[Named], options: Sequence[str], accepted: Sequence[int] = (0,)
) -> program.Said:
    with scratch() as folder:
        words: list[str | Path] = [command]
        for nr, (name, of) in enumerate(records):
            file = as_file(of, Path(folder, f"{nr}.json"))
            words += [file] if name is None else ["--label", f"{name}={file}"]
        return program.call([*words, *options], accepted)


def _rows(comparison: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in comparison["rows"]:
        key = {name: row[name] for name in ("scenario", "ground", "seed", "metric", "unit")}
        key |= {name: row[name] for name in ("basis", "better", "role")}
        key |= {f"field.{name}": value for name, value in row["fields"].items()}
        if row["base"]:
            base = _summary(row["base"])
            yield key | base | {"variant": comparison["base"], "is_base": True}
        for name, change in zip(comparison["others"], row["others"], strict=True):
            if change:
                test = change["test"] or {}
                yield (
                    key
                    | _summary(change["summary"])
                    | {
                        "variant": name,
                        "is_base": False,
                        "percent": change["percent"],
                        "p": test.get("p"),
                        "p_holm": test.get("p_holm"),
                        "verdict": change["verdict"],
                    }
                )


def _summary(summary: dict[str, Any]) -> dict[str, Any]:
    interval = summary["interval"] or {}
    ends = {name: interval.get(name) for name in ("low", "high", "level")}
    return {"n": summary["n"], "median": summary["median"]} | ends
