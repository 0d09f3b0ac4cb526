"""Gaussian inference under inequality constraints: truncated moments and EP."""

from meseta.inference.ep import EPInfo, TruncatedGaussian, expectation_propagation
from meseta.inference.truncated import TruncatedMoments, standard_truncation, truncate_above

__all__ = [
    "EPInfo",
    "TruncatedGaussian",
    "TruncatedMoments",
    "expectation_propagation",
    "standard_truncation",
    "truncate_above",
]
