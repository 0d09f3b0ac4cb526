"""Files that take long to make, made once for all processes of a test run."""

import os

from filelock import FileLock


def made_once(tmp_path_factory, name, make):
    """A folder that `make` fills; other processes wait for it and find it there."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, unfinished = base / name, base / f"{name}.unfinished"
    with FileLock(base / f"{name}.lock"):
        if not folder.exists():
            unfinished.mkdir(exist_ok=True)
            make(unfinished)
            unfinished.rename(folder)
    return folder
