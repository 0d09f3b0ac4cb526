"""Reports as one HTML file that needs no server and no network."""

import os
from dataclasses import replace
from pathlib import Path

from meseta.boundary import missing
from meseta.report.views.origin import origin
from meseta.report.views.report import Report
from meseta.whole_file import write_whole

try:
    from meseta.report.page.document import GENERATOR, document
except ModuleNotFoundError as error:
    sentence = f"meseta.report.page needs {error.name}"
    raise ImportError(str(missing(sentence, "report"))) from None


def html(report: Report) -> str:
    """The HTML document; the same report always gives the same text."""
    return document(report)


def is_report(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a report of Meseta, judged by its head."""
    with open(path, "rb") as file:
        head = file.read(4096)
    return f'<meta name="generator" content="{GENERATOR}"'.encode() in head


def check_target(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Returns the path if a report may be written there: a new file or an older report.

    With `force`, any file may be overwritten.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            f"{target} is a folder; give the name of a file in it, such as {target / 'report.html'}"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; create it first")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{target} is no regular file; choose another path")
    if target.exists() and not force and not is_report(target):
        raise FileExistsError(
            f"{target} exists and is no report of meseta, so it was not changed; choose another "
            "path, or overwrite the file: --force on the command line, force=True in Python"
        )
    return target


def write(
    report: Report, path: str | os.PathLike[str], *, force: bool = False, file: str = ""
) -> Path:
    """Writes a file beside the target and moves it there, so that nobody reads half of it.

    The page says when it was written, and of which study file.
    """
    target = check_target(path, force=force)
    text = html(replace(report, origin=origin(file)) if report.origin is None else report)
    write_whole(target, text)
    return target


__all__ = ["check_target", "html", "is_report", "write"]
