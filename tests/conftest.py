import os
import signal
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401 - loads libraries that are limited below
import torch
from hypothesis import settings
from threadpoolctl import threadpool_limits

from examples import examples

settings.register_profile("meseta", examples(8))
settings.load_profile("meseta")
# One thread, here and in processes that tests start: several wait for each other where matrices are
# small, and some tests take fifty times as long.
torch.set_num_threads(1)
threadpool_limits(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)
WHOLE = Path(__file__).parent / "whole"


def pytest_collection_modifyitems(items):
    """Tests of the whole take longest, and come first: no process waits for one at the end."""
    items.sort(key=lambda item: WHOLE not in item.path.parents)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty one, in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
