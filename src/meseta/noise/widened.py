"""Noise that is wider or narrower in one column: what another tolerance would mean."""

from collections.abc import Callable
from dataclasses import replace

import torch

from meseta.noise.discrete import Discrete
from meseta.noise.independent import independent
from meseta.noise.joint import Joint, joint
from meseta.noise.law import NoiseLaw, OneDimensional
from meseta.noise.log_normal import LogNormal
from meseta.noise.normal import Normal
from meseta.noise.placed import Placed
from meseta.noise.shifted import Shifted
from meseta.noise.substitution import Substituted
from meseta.noise.uniform import Uniform


def widened(law: NoiseLaw, column: int, factor: float) -> NoiseLaw:
    """The law with all deviations of one column times `factor`, a bias included; 0: no noise.

    `law` is that of a whole design, as `resolved` gives it. The probability of a mistaken choice is
    multiplied by `factor`, up to 1. What a parameter shares with others is scaled for it alone. An
    environment variable comes closer to its mean, or departs further from it.
    """
    if isinstance(law, Substituted):
        return _confused(law, factor)
    if isinstance(law, Joint):
        own = [
            _alone(marginal, factor) if i == column else marginal
            for i, marginal in enumerate(law.own.marginals)
        ]
        parts = [
            (dims, widened(part, dims.index(column), factor) if column in dims else part)
            for dims, part in law.parts
        ]
        return joint(own, parts)
    if law.independent:
        return independent(
            [
                _alone(marginal, factor) if i == column else marginal
                for i, marginal in enumerate(law.marginals)
            ]
        )
    scale = torch.ones(len(law.mean), dtype=torch.double)
    scale[column] = factor
    return law.scaled(scale)


def _alone(law: NoiseLaw, factor: float) -> NoiseLaw:
    """The law of one column with all deviations times `factor`."""
    if isinstance(law, Placed):
        if law.kind == "replace":
            return replace(law, law=_around_mean(law.law, factor))
        if factor == 0:
            return Normal(0.0)
        if law.kind == "width" and law.width is not None:
            return replace(law, width=_Times(law.width, factor))
        zeta = _alone(law.law, factor)
        assert isinstance(zeta, OneDimensional)
        return replace(law, law=zeta)
    if factor == 0:
        return Normal(0.0)
    if isinstance(law, LogNormal):
        return LogNormal(factor * law.sigma)
    if isinstance(law, Normal) and law.width is not None:
        return Normal(_Times(law.width, factor))
    if isinstance(law, Uniform) and law.width is not None:
        return Uniform(_Times(law.width, factor))
    if isinstance(law, Normal):
        std, bias = float(law.standard_deviation), float(law.mean)
        return Normal(factor * std, factor * bias, relative=law.relative)
    if isinstance(law, Uniform):
        half, bias = float(law.half_widths), float(law.mean)
        return Uniform(factor * half, factor * bias, relative=law.relative)
    return law.scaled(torch.tensor([factor], dtype=torch.double))


def _around_mean(law: OneDimensional, factor: float) -> OneDimensional:
    """The law of mean + factor (zeta - mean)."""
    mean = float(law.mean)
    if factor == 0:
        return Discrete([mean])
    if isinstance(law, Normal):
        return Normal(factor * float(law.standard_deviation), mean)
    if isinstance(law, Uniform):
        return Uniform(factor * float(law.half_widths), mean)
    scaled = law.scaled(torch.tensor([factor], dtype=torch.double))
    assert isinstance(scaled, OneDimensional)
    return Shifted(scaled, (1 - factor) * mean)


def _confused(law: Substituted, factor: float) -> Substituted:
    """identity + factor (matrix - identity), each row with a factor that keeps it positive."""
    matrix = torch.tensor(law.matrix, dtype=torch.double)
    same = torch.eye(len(matrix), dtype=torch.double)
    other = (1 - matrix.diagonal())[:, None]
    times = torch.where(other > 0, (1 / other.clamp_min(1e-300)).clamp_max(factor), 0.0)
    rows = same + times * (matrix - same)
    return Substituted(law.choices, tuple(tuple(row) for row in rows.clamp(0, 1).tolist()))


class _Times:
    """A width that is a function of x, times a number. Two are equal if function and number are."""

    def __init__(self, width: Callable[[float], float], factor: float) -> None:
        self.width, self.factor = width, factor

    def __call__(self, x: float) -> float:
        return self.factor * self.width(x)

    def __repr__(self) -> str:
        return f"{self.factor:g} * {self.width!r}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Times):
            return NotImplemented
        return (self.width, self.factor) == (other.width, other.factor)

    def __hash__(self) -> int:
        return hash((self.width, self.factor))
