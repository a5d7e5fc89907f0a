"""The record format (docs/records.md), made by generate.py."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType


class Bound(Struct, kw_only=True):
    at_least: float | UnsetType = UNSET
    at_most: float | UnsetType = UNSET


class Interval(Struct, kw_only=True):
    high: float
    kind: Literal['order-statistics', 'student', 'draws', 'prediction']
    level: Annotated[float, Meta(gt=0.0, lt=1.0)]
    low: float


Cells: TypeAlias = list[float | None]


Name: TypeAlias = str


Text: TypeAlias = str


U64: TypeAlias = Annotated[int, Meta(ge=0)]


class Activity(Struct, kw_only=True):
    name: Name
    self: Annotated[float, Meta(ge=0.0)]
    parts: list[Activity] | UnsetType = UNSET


class Axis(Struct, kw_only=True):
    name: Name
    unit: Text


class Line(Struct, kw_only=True):
    name: Name
    values: Cells


class Machine(Struct, kw_only=True):
    arch: Text
    cores: Annotated[int, Meta(ge=0, le=4294967295)]
    cpu: Text
    memory_mib: U64
    os: Text


class Part(Struct, kw_only=True):
    name: Name
    start: float


class Run(Struct, kw_only=True):
    id: str
    machine: Machine
    tool: Text
    commit: Text | UnsetType = UNSET


class Series(Struct, kw_only=True):
    at: list[float]
    lines: Annotated[list[Line], Meta(min_length=1)]
    x: Axis
    stacked: bool | UnsetType = UNSET


class Step(Struct, kw_only=True):
    actor: Annotated[int, Meta(ge=0)]
    kind: Literal['step', 'violation']
    text: Name
    after: list[Text] | UnsetType = UNSET


Labels: TypeAlias = dict[str, Text]


class Edges(Struct, kw_only=True):
    edges: Annotated[list[float], Meta(min_length=2)]
    name: Name
    unit: Text
    parts: list[Part] | UnsetType = UNSET


class Matrix(Struct, kw_only=True):
    rows: list[Cells]
    x: Edges
    y: Edges


class Sequence(Struct, kw_only=True):
    actors: list[Name]
    steps: Annotated[list[Step], Meta(min_length=1)]
    start: list[Text] | UnsetType = UNSET
    watched: list[Name] | UnsetType = UNSET


class Metric(Struct, kw_only=True):
    basis: Literal['measured', 'counted', 'modelled', 'fitted', 'guessed', 'published']
    better: Literal['lower', 'higher', 'neither']
    name: Name
    unit: Text
    activities: Annotated[list[Activity], Meta(min_length=1)] | UnsetType = UNSET
    bound: Bound | UnsetType = UNSET
    claim: Literal['better', 'worse', 'no-difference'] | UnsetType = UNSET
    interval: Interval | UnsetType = UNSET
    matrix: Matrix | UnsetType = UNSET
    sequence: Sequence | UnsetType = UNSET
    series: Series | UnsetType = UNSET
    source: Name | UnsetType = UNSET
    values: Annotated[list[float], Meta(min_length=1)] | UnsetType = UNSET


class Record(Struct, kw_only=True):
    ground: Literal['host', 'model', 'linux', 'check', 'published']
    metrics: list[Metric]
    scenario: Name
    seed: U64
    fields: Labels | UnsetType = UNSET
    variant: Labels | UnsetType = UNSET


class RecordSet(Struct, kw_only=True):
    records: list[Record]
    run: Run


class RecordFile(Struct, kw_only=True):
    schema: Literal['pageout-record']
    sets: Annotated[list[RecordSet], Meta(min_length=1)]
    version: Literal[2]
