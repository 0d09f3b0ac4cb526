"""Whether autograd can record, which searches for optima need."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def check_recordable() -> None:
    """Refuse torch.inference_mode(), whose tensors no gradient can pass, here or later."""
    if torch.is_inference_mode_enabled():
        raise RuntimeError(
            "torch.inference_mode() is on, and what is computed in it has no gradients, which the "
            "search for optima needs; use torch.no_grad(), or leave it here by "
            "`with torch.inference_mode(False):`"
        )


@contextmanager
def recordable() -> Iterator[None]:
    """Leave torch.inference_mode(), so that what is kept can be used outside of it.

    Gradients are recorded as before: not at all, if it was on.
    """
    recording = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.set_grad_enabled(recording):
        yield
