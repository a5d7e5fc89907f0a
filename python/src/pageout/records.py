"""Records: what every command answers."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
import polars as pl

from pageout import program
from pageout.schema import Activity, Interval, Metric, Record, RecordFile

_DECODER: Final = msgspec.json.Decoder(RecordFile)

File: TypeAlias = str | Path
DataType: TypeAlias = pl.DataType | type[pl.DataType]


class Records:
    """A file of records: one or more runs, each with its records.

    `file` has all that the format has, as typed objects. The methods give parts of it as frames.
    """

    def __init__(self, file: RecordFile, json: bytes | None = None) -> None:
        self.file = file
        self._json = json

    @classmethod
    def from_json(cls, text: bytes | str) -> "Records":
        """Read the JSON that the program wrote."""
        json = text.encode() if isinstance(text, str) else text
        return cls(_DECODER.decode(json), json)

    def to_json(self) -> bytes:
        """Write them as the program reads them: what it printed, to the byte.

        Of a `file` that was changed, the same as compact JSON.
        """
        if self._json is not None and _DECODER.decode(self._json) == self.file:
            return self._json
        return msgspec.json.encode(self.file)

    def write(self, path: File) -> None:
        """Write `to_json` to a file that the program reads."""
        Path(path).write_bytes(self.to_json())

    def __iter__(self) -> Iterator[Record]:
        """Every record, of all runs."""
        return (record for _, record in self._records())

    def __len__(self) -> int:
        """Records of all runs."""
        return sum(len(one.records) for one in self.file.sets)

    def __repr__(self) -> str:
        scenarios = ", ".join(sorted({record.scenario for record in self}))
        return f"Records({len(self)} of {scenarios or 'nothing'}; runs {len(self.file.sets)})"

    def frame(self) -> pl.DataFrame:
        """Every value that was measured, counted or computed, a row each.

        `value` is a number in `unit`. `low` and `high` are the ends of the interval that the record
        states, at `level`. Fields are columns `field.NAME` and axes `axis.NAME`, as text.
        """
        rows = [
            {**key, **_interval(metric), "sample": sample, "value": value}
            for key, metric in self._metrics()
            for sample, value in enumerate(metric.values or ())
        ]
        numbers = ["low", "high", "level"]
        return self._framed(
            rows,
            {**dict.fromkeys(numbers, pl.Float64), "interval": pl.String},
            {"sample": pl.Int64, "value": pl.Float64},
        )

    def series(self, name: str | None = None) -> pl.DataFrame:
        """Lines over an axis, a row a point: `line`, `x` in `x_unit`, `value` in `unit`.

        With a name those of that metric alone. Raises `ValueError` with the names that there are
        if it is none of them.
        """
        self._check("series", name)
        rows = []
        for key, metric in self._metrics(name):
            if metric.series:
                axis = {"x_name": metric.series.x.name, "x_unit": metric.series.x.unit}
                rows += [
                    {**key, **axis, "line": line.name, "x": x, "value": value}
                    for line in metric.series.lines
                    for x, value in zip(metric.series.at, line.values, strict=True)
                ]
        texts: dict[str, DataType] = dict.fromkeys(["x_name", "x_unit", "line"], pl.String)
        return self._framed(rows, texts, {"x": pl.Float64, "value": pl.Float64})

    def matrix(self, name: str | None = None) -> pl.DataFrame:
        """Maps, a row a cell: from `x` to `x_end`, from `y` to `y_end`, `value` in `unit`.

        With a name those of that metric alone. Raises `ValueError` with the names that there are
        if it is none of them.
        """
        self._check("matrix", name)
        rows = []
        for key, metric in self._metrics(name):
            if metric.matrix:
                x, y = metric.matrix.x, metric.matrix.y
                axes = {"x_name": x.name, "x_unit": x.unit, "y_name": y.name, "y_unit": y.unit}
                rows += [
                    {
                        **key,
                        **axes,
                        "x": x.edges[column],
                        "x_end": x.edges[column + 1],
                        "y": y.edges[line],
                        "y_end": y.edges[line + 1],
                        "value": value,
                    }
                    for line, cells in enumerate(metric.matrix.rows)
                    for column, value in enumerate(cells)
                ]
        names = ["x_name", "x_unit", "y_name", "y_unit"]
        texts: dict[str, DataType] = dict.fromkeys(names, pl.String)
        numbers: dict[str, DataType] = dict.fromkeys(
            ["x", "x_end", "y", "y_end", "value"], pl.Float64
        )
        return self._framed(rows, texts, numbers)

    def activities(self, name: str | None = None) -> pl.DataFrame:
        """Time by activity, a row each: its `path` from the task, and what it took itself.

        With a name those of that metric alone. Raises `ValueError` with the names that there are
        if it is none of them.
        """
        self._check("activities", name)
        rows = [
            {**key, "path": path, "value": own}
            for key, metric in self._metrics(name)
            for path, own in _walk(metric.activities or ())
        ]
        return self._framed(rows, {"path": pl.List(pl.String)}, {"value": pl.Float64})

    def _check(self, part: Literal["series", "matrix", "activities"], name: str | None) -> None:
        """Refuse a name that no metric with that part has."""
        has_part = (one for of in self for one in of.metrics if getattr(one, part))
        names = dict.fromkeys(metric.name for metric in has_part)
        if name is not None and name not in names:
            there = ", ".join(repr(one) for one in names) or "none"
            message = f"no metric {name!r} with {part}; there are: {there}"
            raise ValueError(message)

    def _records(self) -> Iterator[tuple[int, Record]]:
        for run, one in enumerate(self.file.sets):
            for record in one.records:
                yield run, record

    def _metrics(self, name: str | None = None) -> Iterator[tuple[dict[str, object], Metric]]:
        for run, record in self._records():
            key: dict[str, object] = {
                "run": run,
                "scenario": record.scenario,
                "ground": record.ground,
                "seed": record.seed,
            }
            key |= {f"field.{name}": value for name, value in (record.fields or {}).items()}
            key |= {f"axis.{name}": value for name, value in (record.variant or {}).items()}
            for metric in record.metrics:
                if name is None or metric.name == name:
                    yield (
                        key
                        | {
                            "metric": metric.name,
                            "unit": metric.unit,
                            "basis": metric.basis,
                            "better": metric.better,
                        },
                        metric,
                    )

    def _framed(
        self, rows: Sequence[dict[str, object]], *own: Mapping[str, DataType]
    ) -> pl.DataFrame:
        fields = sorted({f"field.{name}" for one in self for name in one.fields or ()})
        axes = sorted({f"axis.{name}" for one in self for name in one.variant or ()})
        columns: dict[str, DataType] = {
            "run": pl.Int64,
            "scenario": pl.String,
            "ground": pl.String,
            "seed": pl.UInt64,
        }
        columns |= dict.fromkeys(fields + axes, pl.String)
        columns |= dict.fromkeys(["metric", "unit", "basis", "better"], pl.String)
        for of in own:
            columns |= of
        return pl.DataFrame(rows, schema=columns)


def read(*paths: File) -> Records:
    """Read record files, which the program checks and puts together.

    A run that is in two files is refused, as is a file of another version.
    """
    return Records.from_json(
        program.call(["compare", *map(Path, paths), "--pool", "--json"]).printed
    )


def as_file(of: Records | File, path: Path) -> Path:
    """The file of records; of those in memory `path`, which is written."""
    if not isinstance(of, Records):
        return Path(of)
    of.write(path)
    return path


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for files that the program reads or writes."""
    return tempfile.TemporaryDirectory(prefix="pageout-")


def _interval(metric: Metric) -> dict[str, object]:
    match metric.interval:
        case Interval(kind=kind, low=low, high=high, level=level):
            return {"low": low, "high": high, "level": level, "interval": kind}
        case _:
            return {}


def _walk(
    activities: Sequence[Activity], above: tuple[str, ...] = ()
) -> Iterator[tuple[list[str], float]]:
    for activity in activities:
        path = (*above, activity.name)
        yield list(path), activity.self
        yield from _walk(activity.parts or (), path)
