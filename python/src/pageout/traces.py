"""Page traces of real programs."""

import warnings
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from pageout import program
from pageout.records import File, Records, scratch
from pageout.scenarios import Value, run, text


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What was traced, and how."""

    page_shift: int
    epoch_references: int
    filter: dict[str, int]
    mappings: bool
    sampled: bool
    command: list[str]
    architecture: str
    tool: str


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace counts: references of the program, accesses that the trace has."""

    references: int
    epochs: int
    accesses: int
    distinct_pages: int
    ending: str | dict[str, int]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Least, middle and greatest of one figure an epoch."""

    min: int
    median: int
    max: int


class TraceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace holds. Sizes are in bytes or in pages of `2 ** header.page_shift` bytes."""

    sha256: str
    header: Header
    totals: Totals
    compressed_bytes: int
    used_pages: Spread
    stored_pages: Spread
    areas: list[dict[str, Any]]
    peak_mapped_pages: int
    changes: dict[str, int]
    files: int
    unknown_accesses: int


class Trace:
    """A sample by its name, or a file."""

    def __init__(self, name: File) -> None:
        self.name = str(name)

    def __repr__(self) -> str:
        return f"Trace({self.name!r})"

    def info(self) -> TraceInfo:
        """What the trace holds. The whole of it is read, and so checked."""
        printed = program.call(["trace", "info", "--json", self.name]).printed
        return msgspec.json.decode(printed, type=TraceInfo)

    def curve(self, limit: Value = "5%..100%", policy: Value = "all") -> Records:
        """Miss ratios by memory limit and replacement policy, a record a point.

        Limits are sizes, or per cent of the trace's different pages. Points that cannot be had,
        such as those of the engine under a limit that leaves it no room, are left out with a
        warning.
        """
        words = ["trace", "curve", self.name, "--limit", text("limit", limit), "--json"]
        words += [] if policy == "all" else ["--policy", text("policy", policy)]
        said = program.call(words, accepted=(0, 1))
        if said.status:
            # Without any point it is an error as any other.
            if not said.printed:
                raise program.Error(program.message_of(said.said, said.status))
            warnings.warn(program.message_of(said.said, said.status), stacklevel=2)
        return Records.from_json(said.printed)

    def epochs(
        self,
        limit: str = "50%",
        *,
        lru: Literal["classic", "mglru"] = "classic",
        order: Value = 0,
        format: Literal["x86-64", "arm64-4k"] = "x86-64",  # noqa: A002 - the field's name
    ) -> Records:
        """The program in so much memory, with what became of its pages by epoch.

        `series("pages by list")` and `matrix("pages used")` of the answer are frames of it.
        """
        return run("trace", trace=self.name, limit=limit, lru=lru, order=order, format=format)

    def references(self) -> pl.DataFrame:
        """The reference string, a row for each access that the trace has.

        `epoch` is the number of epochs before it. `page` is the page's number in the order of first
        uses, from 0. `next` is the row of the access that asks for the page next, if one does.
        """
        with scratch() as folder:
            path = Path(folder, "string.oracleGeneral")
            program.call(["trace", "export", self.name, "--output", path])
            # oracleGeneral, which counts pages and records from 1: docs/traces.md.
            layout = [("epoch", "<u4"), ("page", "<u8"), ("size", "<u4"), ("next", "<i8")]
            records = np.fromfile(path, dtype=np.dtype(layout))
        columns = {name: np.ascontiguousarray(records[name]) for name in ("epoch", "page", "next")}
        row = pl.when(pl.col("next") > 0).then(pl.col("next") - 1)
        return pl.DataFrame(columns).with_columns(pl.col("page") - 1, row.alias("next"))
