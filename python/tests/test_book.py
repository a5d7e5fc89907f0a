"""The book, which only a wheel carries."""

from pathlib import Path

import pytest

from pageout import book


def test_the_first_page_is_where_the_wheel_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "_FOLDER", tmp_path)
    (tmp_path / "index.html").write_text("<title>pageout</title>")
    assert book.first_page() == tmp_path / "index.html"


def test_an_installation_without_the_book_says_who_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "_FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="accepted: a wheel"):
        book.first_page()
    with pytest.raises(SystemExit, match=r"^error: the book is not installed; accepted: a wheel"):
        book.main()
