"""The book: all documentation of this version as pages, which need no network.

`python -m pageout.book` opens it in a browser, and prints where it is.
"""

import sys
import webbrowser
from pathlib import Path

_FOLDER = Path(__file__).parent / "html"


def first_page() -> Path:
    """Where the book begins.

    Raises `FileNotFoundError` where the package was installed from its sources, which have no book.
    """
    page = _FOLDER / "index.html"
    if not page.is_file():
        message = "the book is not installed; accepted: a wheel that `cargo xtask dist` made"
        raise FileNotFoundError(message)
    return page


def main() -> None:
    """Print where the book is, and open it where there is a browser."""
    try:
        page = first_page()
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    print(page)
    webbrowser.open(page.as_uri())


if __name__ == "__main__":
    main()
