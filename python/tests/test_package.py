"""What the wheel says of itself."""

import re
import tomllib
from pathlib import Path

from packaging.licenses import canonicalize_license_expression

import pageout

PYTHON = Path(__file__).parents[1]
ROOT = PYTHON.parent

#: What is carried beside crates: the library that draws charts, patches of Linux, and in the book
#: what mdBook puts beside the pages.
CARRIED = {"BSD-3-Clause", "ISC", "GPL-2.0-only", "MPL-2.0", "CC-BY-4.0"}


def test_the_licence_covers_what_is_in_the_wheel() -> None:
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]
    expression = canonicalize_license_expression(project["license"])
    assert expression.startswith("(MIT OR Apache-2.0) AND "), "the package's own comes first"
    named = set(re.split(r" AND ", expression.partition(" AND ")[2]))
    crates = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"]
    assert named == {*crates, *CARRIED}


def test_the_version_is_the_programs() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    assert pageout.__version__ == workspace["package"]["version"]


def test_licences_are_in_the_wheel() -> None:
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]
    files = [path for glob in project["license-files"] for path in PYTHON.glob(glob)]
    # Those of crates are there when a wheel has been built.
    assert {path.name for path in files} - {"crates.LICENCES.txt"} == {
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "book.LICENCES.txt",
        "charts.LICENCES.txt",
    }
    assert all(path.read_text() for path in files)
