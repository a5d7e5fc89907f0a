"""Records and their frames."""

import io
from pathlib import Path

import polars as pl
import pytest

import generate
import pageout

KERNELS = Path(__file__).parents[2] / "crates/lab/files/records/linux-7.3.json"


@pytest.fixture(scope="module")
def modelled() -> pageout.Records:
    """Two variants on modelled machines."""
    return pageout.run(
        "reclaim-file",
        variants=["young=per-entry", "young=line"],
        ground="model",
        draws=8,
        size="1MiB",
        order=4,
        format="x86-64",
    )


def test_the_models_are_those_of_the_schema() -> None:
    made = generate.made()
    assert generate.MADE.read_text() == made, "stale: run python/generate.py"


def test_values_are_numbers_with_units(modelled: pageout.Records) -> None:
    frame = modelled.frame()
    whole = frame.filter(pl.col("metric") == "whole reclaim")
    assert whole["axis.young"].to_list() == ["per-entry", "line"]
    assert whole["unit"].to_list() == ["ns/4K page"] * 2
    assert whole["field.order"].to_list() == ["4", "4"]
    assert whole.select((pl.col("low") < pl.col("value")).all()).item()
    assert whole.select((pl.col("value") < pl.col("high")).all()).item()
    assert whole["interval"].to_list() == ["draws"] * 2
    drawn = frame.filter(pl.col("metric") == "whole reclaim, drawn")
    assert drawn["sample"].to_list() == [*range(8)] * 2
    values = [
        value for record in modelled for metric in record.metrics for value in metric.values or ()
    ]
    assert frame["value"].to_list() == values


def test_the_frame_has_what_the_programs_csv_has(modelled: pageout.Records, tmp_path: Path) -> None:
    modelled.write(tmp_path / "records.json")
    printed = pageout.program.call(["compare", tmp_path / "records.json", "--csv"]).printed
    csv = pl.read_csv(io.BytesIO(printed), infer_schema=False)
    frame = modelled.frame()
    assert set(csv.columns) <= set(frame.columns)
    texts = [name for name in csv.columns if name != "value"]
    assert frame.select(pl.col(texts).cast(pl.String).fill_null("")).equals(
        csv.select(pl.col(texts).fill_null(""))
    )
    assert frame["value"].equals(csv["value"].cast(pl.Float64))


def test_frames_go_through_parquet_and_arrow(modelled: pageout.Records, tmp_path: Path) -> None:
    frame = modelled.frame()
    frame.write_parquet(tmp_path / "frame.parquet")
    frame.write_ipc(tmp_path / "frame.arrow")
    assert pl.read_parquet(tmp_path / "frame.parquet").equals(frame)
    assert pl.read_ipc(tmp_path / "frame.arrow").equals(frame)


def test_time_by_activity_adds_up(modelled: pageout.Records) -> None:
    frame = modelled.activities("time by activity")
    assert frame["unit"].unique().to_list() == ["ns"]
    assert frame["path"].list.first().n_unique() >= 1
    assert frame["value"].min() == 0 or frame["value"].sum() > 0


def test_files_are_read_as_they_were_written(modelled: pageout.Records, tmp_path: Path) -> None:
    modelled.write(tmp_path / "records.json")
    assert pageout.read(tmp_path / "records.json").file == modelled.file
    kernels = pageout.read(KERNELS, tmp_path / "records.json")
    assert len(kernels) > len(modelled)
    assert kernels.file.sets[-1] == modelled.file.sets[0]


def test_a_file_has_the_bytes_that_the_program_printed(tmp_path: Path) -> None:
    words = ["run", "reclaim-file", "size=1MiB", "order=4", "format=x86-64", "--ground", "model"]
    printed = pageout.program.call([*words, "--json"]).printed
    records = pageout.Records.from_json(printed)
    records.write(tmp_path / "records.json")
    assert (tmp_path / "records.json").read_bytes() == printed
    next(iter(records)).variant = {"young": "mine"}
    assert pageout.Records.from_json(records.to_json()).file == records.file


def test_a_name_that_no_metric_has_is_refused_with_those_that_there_are(
    modelled: pageout.Records,
) -> None:
    with pytest.raises(ValueError, match="no metric 'typo' with series; there are: 'fabric load'"):
        modelled.series("typo")
    with pytest.raises(ValueError, match="no metric 'typo' with matrix; there are: none"):
        modelled.matrix("typo")
    with pytest.raises(ValueError, match="no metric 'whole reclaim' with activities; there are: "):
        modelled.activities("whole reclaim")
    with pytest.raises(ValueError, match="'time by activity'"):
        modelled.activities("typo")
    assert modelled.matrix().height == 0


def test_a_bad_file_is_refused_with_the_programs_message(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    text = KERNELS.read_text().replace('"unit": ', '"units": ', 1)
    path.write_text(text)
    with pytest.raises(pageout.Error, match="unknown field `units`"):
        pageout.read(path)
    with pytest.raises(pageout.Error, match="No such file"):
        pageout.read(tmp_path / "none.json")


def test_a_bad_call_is_refused_with_the_programs_message() -> None:
    with pytest.raises(pageout.Error, match=r"^field `size`: `much` is not a size; accepted"):
        pageout.run("age-file", size="much")
    unknown = r"^unknown scenario `nonsense`; accepted: reclaim-file"
    with pytest.raises(pageout.Error, match=unknown):
        pageout.run("nonsense")


def test_a_value_that_no_field_takes_is_refused_with_its_name() -> None:
    with pytest.raises(TypeError, match=r"^size: found 0\.5, expected text such as '50%'"):
        pageout.run("age-file", size=0.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^order: found None, expected"):
        pageout.run("age-file", order=[0, None])  # type: ignore[list-item]


def test_fields_are_what_the_command_line_takes() -> None:
    records = pageout.run(
        "aging-rounds", size="8MiB", format="x86-64", order=[0, 4], rounds=2, contiguous=False
    )
    fields = [record.fields or {} for record in records]
    assert {of["order"] for of in fields} == {"0", "4"}
    assert {of["contiguous"] for of in fields} == {"no"}
    named = pageout.run(
        "reclaim-file", size="1MiB", order=4, format="x86-64", uffd_wp=True, ground="model"
    )
    words = ["reclaim-file", "size=1MiB", "order=4", "format=x86-64", "uffd-wp=yes"]
    words += ["--ground", "model"]
    asked = pageout.Records.from_json(pageout.program.call(["run", *words, "--json"]).printed)
    assert named.file.sets[0].records == asked.file.sets[0].records
