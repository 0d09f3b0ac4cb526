import pytest
import torch
from hypothesis import settings

from examples import examples

settings.register_profile("meseta", examples(8))
settings.load_profile("meseta")
torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty one, in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
