"""Running scenarios."""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from pageout import program
from pageout.records import File, Records

Value: TypeAlias = str | int | bool | Iterable[str | int | bool]


def run(  # noqa: PLR0913 - the program's options
    scenario: str,
    *,
    variants: Sequence[str] = (),
    ground: Literal["host", "model"] = "host",
    platform: File | None = None,
    cores: int | None = None,
    draws: int | None = None,
    trace: File | None = None,
    runs: int | None = None,
    seed: int | None = None,
    **fields: Value,
) -> Records:
    """Run a scenario under one variant, or under several in turn.

    `pageout scenarios` lists scenarios and their fields; a field with a hyphen has an underscore
    here. A field that is given several values is run with each. A variant is text, such as
    `young=line,unmap=batched`; without any it is the cheapest. Raises `Error` where the program
    refuses.
    """
    options = {
        "ground": ground,
        "platform": platform,
        "cores": cores,
        "draws": draws,
        "trace": trace,
        "runs": runs,
        "seed": seed,
    }
    words = [
        scenario,
        *(f"{name.replace('_', '-')}={text(name, of)}" for name, of in fields.items()),
    ]
    for name, option in options.items():
        if option is not None:
            words += [f"--{name}", str(option)]
    return Records.from_json(program.call([*_variants(variants), *words, "--json"]).printed)


def text(name: str, value: Value) -> str:
    """The value of the field, or argument, of that name as the command line takes it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case str() | int():
            return str(value)
        case Iterable():
            return ",".join(text(name, one) for one in value)
        case _:
            message = (
                f"{name}: found {value!r}, expected text such as '50%' or '64MiB', a whole number, "
                "True or False, or several of these"
            )
            raise TypeError(message)


def _variants(variants: Sequence[str]) -> list[str]:
    match list(variants):
        case []:
            return ["run"]
        case [only]:
            return ["run", "--variant", only]
        case [base, *others]:
            return ["compare", "--base", base, *(word for of in others for word in ("--new", of))]
        case _:
            raise AssertionError
