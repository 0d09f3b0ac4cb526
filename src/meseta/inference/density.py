"""Entropy of samples by kernel density estimation."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

# The grid covers this many standard deviations either side; samples beyond lie on its ends.
REACH = 6.0
BINS = 385  # a thirty-second of a standard deviation each


def kde_entropy(samples: Float[Tensor, "*batch num"], bandwidth: float) -> Float[Tensor, "*batch"]:
    """H = -1/L sum_i log p(y_i), p the Gaussian kernel density estimate of the samples.

    Paper, Sec. 3.2.1 [Ahmad and Lin 1976]. `bandwidth` is in standard deviations of the samples.
    Samples are shared out linearly between the two nearest points of a grid, which costs O(L) and
    not O(L^2), and accurate to 2e-3 nats for bandwidths of 0.15 or more. Differentiable.
    """
    centred = samples - samples.mean(-1, keepdim=True)
    deviation = centred.square().mean(-1, keepdim=True).clamp_min(1e-300).sqrt()
    # in units of bins; the last bin is closed above
    position = (centred / deviation + REACH) * (BINS - 1) / (2 * REACH)
    position = position.clamp(0, (BINS - 1) * (1 - 1e-12))
    lower = position.detach().floor().long()
    upper_share = position - lower
    mass = samples.new_zeros(*samples.shape[:-1], BINS)
    mass = mass.scatter_add(-1, lower, 1 - upper_share).scatter_add(-1, lower + 1, upper_share)
    mass = mass / samples.shape[-1]
    density = mass @ _gaussian(bandwidth)
    standard = -(mass * density.clamp_min(1e-300).log()).sum(-1)
    return standard + deviation.squeeze(-1).log()


def normal_reference_bandwidth(num: int) -> float:
    """1.06 L^(-1/5) standard deviations [Silverman 1986, Eq. 3.28]."""
    return 1.06 * num**-0.2


def _gaussian(bandwidth: float) -> Float[Tensor, "bins bins"]:
    grid = torch.linspace(-REACH, REACH, BINS, dtype=torch.double)
    distance = (grid[:, None] - grid) / bandwidth
    return (-0.5 * distance**2).exp() / (bandwidth * math.sqrt(2 * math.pi))
