"""Pictures, as Altair charts: change them, save them, put them beside each other."""

from typing import TypeAlias

import altair as alt
import polars as pl

from pageout.comparison import Comparison
from pageout.records import Records

Picture: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart

#: What `Trace.curve` answers.
_CURVE = "trace-curve"

#: The first line is whole; others have gaps, so that a line below them can be seen.
_DASHES = alt.Scale(
    range=[[1, 0], [8, 3], [4, 4], [2, 2], [8, 3, 2, 3], [12, 6], [1, 3], [6, 2, 1, 2, 1, 2]]
)


def bars(comparison: Comparison, unit: str | None = None) -> Picture:
    """Medians of each metric as bars, a colour a variant, with their intervals.

    Only metrics of which one direction is better, and which are not zero throughout, are shown; a
    chart for each unit, or for `unit` alone.
    """
    frame = comparison.frame().filter(pl.col("better") != "neither")
    alike = ["scenario", "ground", "seed", "metric", "unit"]
    alike += [name for name in frame.columns if name.startswith("field.")]
    frame = frame.filter((pl.col("median") != 0).any().over(alike))
    if unit is not None:
        frame = frame.filter(pl.col("unit") == unit)
    frame = frame.with_columns(_label(frame).alias("what"))
    units = frame["unit"].unique(maintain_order=True).to_list()
    charts = [_bars(frame.filter(pl.col("unit") == of), of) for of in units]
    if not charts:
        message = f"no metric of unit {unit!r}" if unit is not None else "no metric to show"
        raise ValueError(message)
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts)


def curve(records: Records) -> Picture:
    """Miss ratios by memory, a line for each policy, of what `Trace.curve` gives."""
    frame = records.frame().filter(pl.col("scenario") == _CURVE)
    key = ["field.trace", "field.limit", "axis.policy"]
    points = frame.pivot("metric", index=key, values="value").rename(
        {"limit": "pages", "miss ratio": "miss_ratio"}
    )
    x = alt.X("pages:Q", title="memory, 4K pages")
    y = alt.Y("miss_ratio:Q", title="miss ratio")
    policy = "axis\\.policy:N"
    colour = alt.Color(policy, title="policy", sort=None)
    dash = alt.StrokeDash(policy, title="policy", sort=None, scale=_DASHES)
    told = ["axis\\.policy:N", "field\\.limit:N", "pages:Q", "miss_ratio:Q"]
    chart = alt.Chart(points).encode(
        x=x, y=y, color=colour, tooltip=[alt.Tooltip(of) for of in told]
    )
    shape = alt.Shape(policy, title="policy", sort=None)
    return alt.layer(
        chart.mark_line().encode(strokeDash=dash), chart.mark_point().encode(shape=shape)
    )


def series(records: Records, name: str) -> Picture:
    """Lines of a metric over their axis.

    Where they are shares of a whole they are stacked, the first one of the records lowest.
    """
    frame = records.series(name).drop_nulls("value")
    first = _first(frame, name)
    metrics = (metric for record in records for metric in record.metrics if metric.name == name)
    stacked = any(metric.series and metric.series.stacked for metric in metrics)
    names = frame["line"].unique(maintain_order=True).to_list()
    place = pl.col("line").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    chart = alt.Chart(frame.select("line", "x", "value", place.alias("place"))).encode(
        x=alt.X("x:Q", title=_titled(first["x_name"], first["x_unit"])),
        y=alt.Y("value:Q", title=_titled(name, first["unit"])),
        color=alt.Color("line:N", title=None, sort=names),
    )
    dashes = alt.StrokeDash("line:N", title=None, sort=names, scale=_DASHES)
    lines: alt.Chart = (
        chart.mark_area().encode(order=alt.Order("place:Q", sort="ascending"))
        if stacked
        else chart.mark_line().encode(strokeDash=dashes)
    )
    return lines


def matrix(records: Records, name: str) -> Picture:
    """A map of a metric, darker where there is more."""
    frame = records.matrix(name).drop_nulls("value").filter(pl.col("value") != 0)
    first = _first(frame, name)
    cells: alt.Chart = (
        alt.Chart(frame.select("x", "x_end", "y", "y_end", "value"))
        .mark_rect()
        .encode(
            x=alt.X("x:Q", title=_titled(first["x_name"], first["x_unit"])),
            x2="x_end:Q",
            y=alt.Y("y:Q", title=_titled(first["y_name"], first["y_unit"])),
            y2="y_end:Q",
            color=alt.Color("value:Q", title=_titled(name, first["unit"])),
        )
    )
    return cells


def _bars(frame: pl.DataFrame, unit: str) -> Picture:
    chart = alt.Chart(frame.select("what", "variant", "median", "low", "high", "n", "verdict"))
    what = alt.Y("what:N", title=None, sort=None)
    variant = alt.YOffset("variant:N", sort=None)
    medians: alt.Chart = chart.mark_bar().encode(
        x=alt.X("median:Q", title=unit or "value"),
        y=what,
        yOffset=variant,
        color=alt.Color("variant:N", sort=None),
        tooltip=["what:N", "variant:N", "median:Q", "low:Q", "high:Q", "n:Q", "verdict:N"],
    )
    known = chart.transform_filter("isValid(datum.low)").mark_rule()
    ends: alt.Chart = known.encode(x="low:Q", x2="high:Q", y=what, yOffset=variant)
    return alt.layer(medians, ends)


def _label(frame: pl.DataFrame) -> pl.Expr:
    """The metric, with the fields that vary."""
    fields = [name for name in frame.columns if name.startswith("field.")]
    varying = [name for name in fields if frame[name].n_unique() > 1]
    parts = [pl.lit(f" {name.removeprefix('field.')}=") + pl.col(name) for name in varying]
    return pl.concat_str([pl.col("metric"), *parts], ignore_nulls=True)


def _first(frame: pl.DataFrame, name: str) -> dict[str, str]:
    if frame.is_empty():
        message = f"no metric {name!r} to draw"
        raise ValueError(message)
    return frame.row(0, named=True)


def _titled(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name
