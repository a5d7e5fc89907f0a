"""The examples of the documentation run, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "count"), [("docs/python.md", 6), ("python/README.md", 1)])
def test_examples_run(
    page: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall((ROOT / page).read_text())
    assert len(examples) == count
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, page, "exec"), names)
