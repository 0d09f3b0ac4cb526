"""Cholesky factors that say what they had to repair."""

import torch
from jaxtyping import Float
from torch import Tensor


def cholesky(K: Float[Tensor, "n n"]) -> tuple[Float[Tensor, "n n"], float]:
    """L with L L' = K + jitter I, and the smallest jitter of 0, 1e-14, 1e-13, ... that worked.

    The jitter is relative to the mean of the diagonal. From 1e-4 on the model would no longer
    be the one that was asked for, so that is an error.
    """
    if not K.isfinite().all():
        raise ValueError(
            "the covariance of the data has NaN or infinite entries; "
            "check the data and the hyper-parameters of the model"
        )
    scale = K.diagonal().mean()
    for jitter in (0.0, *(10.0**e for e in range(-14, -4))):
        L, failed = torch.linalg.cholesky_ex(K + jitter * scale * torch.eye(len(K), dtype=K.dtype))
        if not failed:
            return L, jitter
    raise ValueError(
        "the covariance of the data is not positive definite, even with a jitter of 1e-5; "
        "increase the observation noise of the model, or remove repeated points"
    )
