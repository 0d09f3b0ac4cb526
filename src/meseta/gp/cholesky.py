"""Cholesky factors that say what they had to repair."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def cholesky(
    K: Float[Tensor, "n n"], largest_jitter: float = 1e-5
) -> tuple[Float[Tensor, "n n"], float]:
    """L with L L' = K + jitter I, and the smallest jitter of 0, 1e-14, 1e-13, ... that worked.

    The jitter is relative to the mean of the diagonal. Beyond `largest_jitter` the model would no
    longer be the one that was asked for, so that is an error.
    """
    if not K.isfinite().all():
        raise ValueError(
            "the covariance of the data has NaN or infinite entries; "
            "check the data and the hyper-parameters of the model"
        )
    identity = torch.eye(len(K), dtype=K.dtype)
    scale = K.diagonal().mean()
    for jitter in (0.0, *(10.0**e for e in range(-14, round(math.log10(largest_jitter)) + 1))):
        L, failed = torch.linalg.cholesky_ex(K + jitter * scale * identity)
        if not failed:
            return L, jitter
    raise ValueError(
        f"the covariance of the data is not positive definite, even with {largest_jitter:g} of "
        "its size added to the diagonal; increase the observation noise of the model, or remove "
        "repeated points"
    )
