"""Reports as one HTML file: for colleagues, by mail, without a server and without a network."""

import os
from pathlib import Path

from meseta.boundary import missing
from meseta.report.views.report import Report

try:
    from meseta.report.page.document import GENERATOR, document
except ModuleNotFoundError as error:
    sentence = f"meseta.report.page needs {error.name}"
    raise ImportError(str(missing(sentence, "report"))) from None


def html(report: Report) -> str:
    """The document; the same report always gives the same text."""
    return document(report)


def is_report(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a report of ours, by what stands in its head."""
    with open(path, "rb") as file:
        head = file.read(4096)
    return f'<meta name="generator" content="{GENERATOR}"'.encode() in head


def check_target(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Where a report may be written: a new file or an older report, any file with `force`."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            f"{target} is a folder; give the name of a file in it, such as {target / 'report.html'}"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{target} is no regular file; name another")
    if target.exists() and not force and not is_report(target):
        raise FileExistsError(
            f"{target} exists and is no report of meseta, so it is left as it is; name another "
            "file, or overwrite it: --force on the command line, force=True in Python"
        )
    return target


def write(report: Report, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Written beside its place and moved there, so that nobody reads half of it."""
    target = check_target(path, force=force)
    text = html(report)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # text that is no Unicode, such as half a pair, must not spoil the rest
        unfinished.write_bytes(text.encode("utf-8", errors="replace"))
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


__all__ = ["check_target", "html", "is_report", "write"]
