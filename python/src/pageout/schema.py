"""The record format (docs/records.md), made by generate.py."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType


class Interval(Struct, kw_only=True):
    kind: Literal['order-statistics', 'student', 'draws']
    low: float
    high: float
    level: Annotated[float, Meta(gt=0.0, lt=1.0)]


class Bound(Struct, kw_only=True):
    at_least: float | UnsetType = UNSET
    at_most: float | UnsetType = UNSET


Cells: TypeAlias = Annotated[
    list[float | None], Meta(description='A number, or null where there is nothing to show.')
]


Text: TypeAlias = Annotated[str, Meta(description='Holds no control characters.')]


Name: TypeAlias = Annotated[str, Meta(description='A text that is not blank.')]


U64: TypeAlias = Annotated[int, Meta(ge=0)]


class Machine(Struct, kw_only=True):
    cpu: Text
    arch: Text
    cores: Annotated[int, Meta(ge=0, le=4294967295)]
    memory_mib: U64
    os: Text


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


class Part(Struct, kw_only=True):
    name: Name
    start: float


class Step(Struct, kw_only=True):
    actor: Annotated[int, Meta(ge=0)]
    text: Name
    kind: Literal['step', 'violation']
    after: list[Text] | UnsetType = UNSET


Labels: TypeAlias = dict[str, Text]


class Run(Struct, kw_only=True):
    id: Annotated[str, Meta(description='Is in the file once.')]
    tool: Text
    machine: Machine
    commit: Text | UnsetType = UNSET


class Series(Struct, kw_only=True):
    x: Axis
    at: list[float]
    lines: Annotated[list[Line], Meta(min_length=1)]
    stacked: bool | UnsetType = UNSET


class Edges(Struct, kw_only=True):
    name: Name
    unit: Text
    edges: Annotated[list[float], Meta(min_length=2)]
    parts: list[Part] | UnsetType = UNSET


class Sequence(Struct, kw_only=True):
    actors: list[Name]
    steps: Annotated[list[Step], Meta(min_length=1)]
    start: list[Text] | UnsetType = UNSET
    watched: list[Name] | UnsetType = UNSET


class Matrix(Struct, kw_only=True):
    x: Edges
    y: Edges
    rows: list[Cells]


class Metric(Struct, kw_only=True):
    name: Name
    unit: Text
    basis: Literal['measured', 'counted', 'modelled', 'fitted', 'guessed', 'published']
    better: Literal['lower', 'higher', 'neither']
    source: Name | UnsetType = UNSET
    interval: Interval | UnsetType = UNSET
    values: Annotated[list[float], Meta(min_length=1)] | UnsetType = UNSET
    bound: Bound | UnsetType = UNSET
    claim: Literal['better', 'worse', 'no-difference'] | UnsetType = UNSET
    activities: Annotated[list[Activity], Meta(min_length=1)] | UnsetType = UNSET
    series: Series | UnsetType = UNSET
    matrix: Matrix | UnsetType = UNSET
    sequence: Sequence | UnsetType = UNSET


class Record(Struct, kw_only=True):
    scenario: Name
    ground: Literal['host', 'model', 'linux', 'check', 'published']
    seed: U64
    metrics: list[Metric]
    fields: Labels | UnsetType = UNSET
    variant: Labels | UnsetType = UNSET


class RecordSet(Struct, kw_only=True):
    run: Run
    records: list[Record]


class RecordFile(Struct, kw_only=True):
    schema: Literal['pageout-record']
    version: Literal[2]
    sets: Annotated[list[RecordSet], Meta(min_length=1)]
