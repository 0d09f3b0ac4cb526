"""Surrogate: a Gaussian process of f as plain tensors, with its data and units."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from meseta.gp.observed import LogVariance, Unseen
from meseta.kernels import StationaryKernel


@dataclass(frozen=True, eq=False)
class Units:
    """Affine maps between what the user sees and what the model sees."""

    x_offset: Float[Tensor, " d"]
    x_width: Float[Tensor, " d"]
    y_offset: Float[Tensor, ""]
    y_scale: Float[Tensor, ""]

    def x_to_model(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        return (x - self.x_offset) / self.x_width

    def x_to_raw(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        return self.x_offset + self.x_width * x

    def y_to_model(self, y: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        return (y - self.y_offset) / self.y_scale

    def y_to_raw(self, y: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        return y * self.y_scale + self.y_offset


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A fitted GP of f as plain tensors, in its own units."""

    kernel: StationaryKernel
    mean: Float[Tensor, ""]
    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    noise_variance: Float[Tensor, " n"]
    new_noise_variance: Float[Tensor, ""]
    units: Units
    log_noise_variance: LogVariance | None = None  # of a new one, where it depends on the design
    unseen: Unseen | None = None  # None: what was planned was carried out
    new_unseen: bool = False  # whether a new one is like that
