"""Traces."""

import hashlib
from pathlib import Path

import polars as pl
import pytest

import pageout
from test_comparison import assert_drawn


def test_a_trace_tells_what_it_holds(small: pageout.Trace) -> None:
    info = small.info()
    assert info.sha256 == hashlib.sha256(Path(small.name).read_bytes()).hexdigest()
    assert not info.header.sampled
    assert (info.totals.references, info.totals.distinct_pages) == (4096, 64)
    assert info.totals.epochs == 32
    assert info.header.epoch_references == 128
    assert info.used_pages.max == 64
    with pytest.raises(pageout.Error, match="none"):
        pageout.Trace("none").info()


def test_the_reference_string_is_the_traces(small: pageout.Trace) -> None:
    frame = small.references()
    assert frame.height == small.info().totals.accesses
    assert frame["page"].n_unique() == 64
    assert frame.schema["page"].is_integer()
    numbered = frame.with_row_index("row")
    assert numbered["epoch"].is_sorted()
    # The next use of a page is the row of that page which comes next.
    shown = numbered.with_columns(pl.col("row").shift(-1).over("page").alias("expected"))
    assert shown.select((pl.col("next").eq_missing(pl.col("expected"))).all()).item()


def test_a_curve_has_a_point_for_each_limit_and_policy(small: pageout.Trace) -> None:
    records = small.curve(limit=["50%", "75%"], policy=["lru", "arc", "min"])
    frame = records.frame().filter(pl.col("metric") == "miss ratio")
    points = frame.sort("field.limit", "axis.policy")
    assert points.height == 6
    misses = {(row["field.limit"], row["axis.policy"]): row["value"] for row in points.to_dicts()}
    assert misses["50%", "min"] <= misses["50%", "lru"]
    assert misses["75%", "min"] < misses["50%", "min"]
    # Of LRU it is counted here.
    assert misses["50%", "lru"] == pytest.approx(_lru_misses(small.references(), 32))
    assert_drawn(pageout.pictures.curve(records))


def test_points_that_cannot_be_had_are_told() -> None:
    trace = pageout.Trace("cc1plus-list")
    with pytest.warns(UserWarning, match="limit 4KiB, policy classic"):
        records = trace.curve(limit=["4K", "2M"], policy=["classic", "min"])
    assert len(records) == 3
    with pytest.raises(pageout.Error, match="cannot be reclaimed"):
        trace.curve(limit="4K", policy="classic")
    with pytest.raises(pageout.Error, match="`much` is not a size; accepted"):
        trace.curve(limit="much")
    with pytest.raises(TypeError, match=r"^limit: found 0\.5, expected text such as '50%'"):
        trace.curve(limit=0.5)  # type: ignore[arg-type]


def test_the_history_of_pages_is_frames(small: pageout.Trace) -> None:
    records = small.epochs("75%")
    lists = records.series("pages by list")
    assert lists["x_name"].unique().to_list() == ["epoch"]
    at_once = lists.group_by("x").agg(pl.col("value").sum())
    assert at_once.select((pl.col("value") <= 64).all()).item()
    used = records.matrix("pages used")
    assert used["value"].max() is not None
    assert used.select((pl.col("x") < pl.col("x_end")).all()).item()
    assert_drawn(pageout.pictures.series(records, "pages by list"))
    assert_drawn(pageout.pictures.matrix(records, "pages used"))
    with pytest.raises(ValueError, match=r"nonsense.*'pages by list'"):
        pageout.pictures.series(records, "nonsense")


def test_stacked_lines_begin_with_the_first_of_the_records(small: pageout.Trace) -> None:
    import vl_convert  # noqa: PLC0415 - large

    records = small.epochs("75%")
    names = records.series("pages by list")["line"].unique(maintain_order=True).to_list()
    assert names != sorted(names), "their order is not the alphabet's"
    picture = pageout.pictures.series(records, "pages by list").to_dict()
    assert picture["encoding"]["color"]["sort"] == names
    drawn = vl_convert.vegalite_to_vega(picture)
    stacks = [of for data in drawn["data"] for of in data.get("transform", ())]
    (stack,) = [of for of in stacks if of["type"] == "stack"]
    assert stack["sort"] == {"field": ["place"], "order": ["ascending"]}
    (values,) = picture["datasets"].values()
    assert {row["line"]: row["place"] for row in values} == dict(zip(names, range(4), strict=True))


def test_lines_that_coincide_are_told_apart(small: pageout.Trace) -> None:
    policies = ["classic", "mglru", "lru", "arc", "s3fifo", "sieve", "min"]
    picture = pageout.pictures.curve(small.curve(limit=["100%"], policy=policies)).to_dict()
    line, points = (layer["encoding"] for layer in picture["layer"])
    dashes = line["strokeDash"]["scale"]["range"]
    assert len(dashes) >= len(policies)
    assert len({tuple(dash) for dash in dashes}) == len(dashes)
    assert points["shape"]["field"] == line["strokeDash"]["field"] == "axis\\.policy"


def _lru_misses(references: pl.DataFrame, frames: int) -> float:
    """Misses of exact LRU over all accesses."""
    memory: dict[int, None] = {}
    misses = 0
    for page in references["page"]:
        if page in memory:
            del memory[page]
        else:
            misses += 1
            if len(memory) == frames:
                del memory[next(iter(memory))]
        memory[page] = None
    return misses / references.height
