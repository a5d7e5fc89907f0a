"""Comparisons, which are the program's."""

from pathlib import Path

import altair as alt
import polars as pl
import pytest

import pageout

LAB = Path(__file__).parents[2] / "crates/lab/files/records/workloads"


def modelled(*variants: str, draws: int | None = None) -> pageout.Records:
    """Variants on a modelled machine."""
    return pageout.run(
        "reclaim-file",
        variants=variants,
        ground="model",
        draws=draws,
        size="1MiB",
        order=4,
        format="x86-64",
    )


@pytest.fixture(scope="module")
def comparison() -> pageout.Comparison:
    """Two variants on a modelled machine."""
    return pageout.compare(modelled("young=per-entry", "young=line", draws=8))


def test_changes_and_verdicts_are_a_frame(comparison: pageout.Comparison) -> None:
    frame = comparison.frame().filter(pl.col("metric") == "whole reclaim")
    base, new = frame.sort("is_base", descending=True).iter_rows(named=True)
    assert (base["variant"], new["variant"]) == ("per-entry", "line")
    assert new["verdict"] == "better"
    assert base["verdict"] is None
    assert new["percent"] == pytest.approx(100 * (1 - new["median"] / base["median"]))
    assert base["low"] < base["median"] < base["high"]
    assert f"{-new['percent']:.1f}%" in str(comparison), "less is better"


def test_a_condition_is_judged(comparison: pageout.Comparison) -> None:
    assert comparison.is_worse("whole reclaim>0%") is False
    with pytest.raises(pageout.Error, match="unknown metric `nonsense`"):
        comparison.is_worse("nonsense>0%")


def test_before_and_after_are_compared_by_name(tmp_path: Path) -> None:
    ran = {"before": modelled("young=per-entry"), "after": modelled("young=batched")}
    # The variant is part of what ran, so that of both has to be one.
    for records in ran.values():
        for record in records:
            record.variant = {"young": "mine"}
    ran["after"].write(tmp_path / "after.json")
    before, after = ("before", ran["before"]), ("after", tmp_path / "after.json")
    better = pageout.compare(labels=[before, after])
    assert better.is_worse("whole reclaim>0%") is False
    worse = pageout.compare(labels=[after, before])
    assert worse.is_worse("whole reclaim>0%") is True
    rows = worse.frame().filter(pl.col("metric") == "whole reclaim", ~pl.col("is_base"))
    assert rows["verdict"].to_list() == ["worse"]


def test_a_workload_of_the_users_is_compared_as_one_of_the_labs(tmp_path: Path) -> None:
    stored = LAB / "fork-copy-arm64-4k.json"
    mine = tmp_path / "mine.json"
    mine.write_text(stored.read_text().replace('"fork-copy"', '"my-program"'))
    comparison = pageout.compare(mine)
    rows = comparison.frame().filter(pl.col("metric") == "exit", ~pl.col("is_base"))
    assert rows["variant"].unique().sort().to_list() == ["6.12:stock", "7.3:stock"]
    ours = pageout.compare(stored).frame().filter(pl.col("metric") == "exit", ~pl.col("is_base"))
    assert rows["percent"].to_list() == ours["percent"].to_list()
    records = pageout.records.read(mine)
    assert {record.scenario for record in records} == {"my-program"}
    assert_drawn(pageout.pictures.bars(comparison, "instructions/4K page"))


def test_pictures_are_drawn(comparison: pageout.Comparison, tmp_path: Path) -> None:
    picture = pageout.pictures.bars(comparison, "ns/4K page")
    assert_drawn(picture)
    drawn = picture.to_dict()
    bars, ends = drawn["layer"]
    assert (bars["mark"]["type"], ends["mark"]["type"]) == ("bar", "rule")
    assert ends["encoding"]["x"]["field"] == "low"
    assert_drawn(pageout.pictures.bars(comparison))
    with pytest.raises(ValueError, match="furlongs"):
        pageout.pictures.bars(comparison, "furlongs")
    comparison.write_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def assert_drawn(picture: alt.TopLevelMixin) -> None:
    """Vega draws it, and shows marks."""
    import vl_convert  # noqa: PLC0415 - large

    svg = vl_convert.vegalite_to_svg(picture.to_dict())
    assert svg.count("<path") > 10
