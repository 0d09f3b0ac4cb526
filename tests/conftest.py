import pytest
import torch
from hypothesis import settings

settings.register_profile("meseta", max_examples=25, deadline=None, derandomize=True)
settings.load_profile("meseta")
torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty one, in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
