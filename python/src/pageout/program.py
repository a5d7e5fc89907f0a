"""The program, and what it says."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Error(Exception):
    """The program refused, or failed; the text is its own message."""


def path() -> Path:
    """Where the program is.

    It is what the variable `PAGEOUT` names, else what the wheel installed beside this interpreter,
    else the first one on `PATH`.
    """
    named = os.environ.get("PAGEOUT")
    if named:
        return Path(named).absolute()
    installed = Path(sysconfig.get_path("scripts"), "pageout")
    found = str(installed) if installed.is_file() else shutil.which("pageout")
    if found is None:
        message = "no program `pageout` beside this interpreter, in PAGEOUT or on PATH"
        raise Error(message)
    return Path(found).absolute()


class Said(NamedTuple):
    """What the program printed and said on standard error, and its exit status."""

    printed: bytes
    said: str
    status: int


def call(words: Sequence[str | Path], accepted: Sequence[int] = (0,)) -> Said:
    """Run the program to its end.

    Raises `Error` with its message where the exit status is not among those accepted.
    """
    done = subprocess.run(
        [path(), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        # A message is not broken into lines.
        env={**os.environ, "COLUMNS": "10000"},
    )
    said = Said(done.stdout, done.stderr.decode(errors="replace"), done.returncode)
    if done.returncode not in accepted:
        raise Error(message_of(said.said, said.status))
    return said


def version() -> str:
    """The version of the program."""
    return call(["--version"]).printed.decode().split()[1]


def message_of(said: str, status: int) -> str:
    """The message in what the program said, without its notes on how far it was."""
    start = 0 if said.startswith("error: ") else said.find("\nerror: ") + 1
    message = said[start:].strip()
    return message.removeprefix("error: ") or f"pageout ended with status {status}"
