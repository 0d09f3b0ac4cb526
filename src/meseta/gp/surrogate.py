"""Reading a fitted BoTorch model: its kernel, mean, noise, data and units."""

from dataclasses import dataclass

import gpytorch.kernels
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.kernels import Kernel, MaternKernel, ProductKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, ZeroMean
from jaxtyping import Float
from torch import Tensor

from meseta.kernels import StationaryKernel
from meseta.kernels.shapes import SHAPES

_SUPPORTED = (
    "RBFKernel, ScaleKernel of it, or a ProductKernel of one-dimensional MaternKernels "
    "(meseta.gp.product_matern builds one)"
)


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


def read_model(model: object) -> Surrogate:
    """What a fitted single-output SingleTaskGP has learned. Puts the model into eval mode."""
    if not isinstance(model, SingleTaskGP):
        raise TypeError(
            f"expected a fitted botorch SingleTaskGP, got {type(model).__name__}; "
            "fit one to your data first"
        )
    if model.num_outputs != 1 or len(model.batch_shape) > 0:
        raise ValueError(
            f"expected a model with one output and no batch, got {model.num_outputs} outputs and "
            f"batch shape {tuple(model.batch_shape)}; fit one model per output"
        )
    model.eval()  # BoTorch keeps transformed training inputs in eval mode only
    # copies: a model that is fitted again must not change what was read from it
    X = model.train_inputs[0].detach().double().clone()
    y = model.train_targets.detach().double().clone()
    if not (X.isfinite().all() and y.isfinite().all()):
        raise ValueError(
            "the model's data has NaN or infinite values; remove failed evaluations before fitting"
        )
    noise_variance, new_noise_variance = _read_noise(model, len(y))
    return Surrogate(
        kernel=read_kernel(model.covar_module, X.shape[-1]),
        mean=_read_mean(model),
        X=X,
        y=y,
        noise_variance=noise_variance,
        new_noise_variance=new_noise_variance,
        units=_read_units(model, X.shape[-1]),
    )


def read_kernel(kernel: Kernel, dimension: int) -> StationaryKernel:
    """Variance, shapes and lengthscales of a supported kernel."""
    variance = torch.ones((), dtype=torch.double)
    shapes: dict[int, str] = {}
    lengthscales: dict[int, Tensor] = {}

    def visit(part: Kernel, dims: list[int], selects: bool = True) -> None:
        nonlocal variance
        if selects and part.active_dims is not None:
            dims = [dims[i] for i in part.active_dims.tolist()]
        if isinstance(part, ScaleKernel):
            variance = variance * part.outputscale.detach().double().squeeze()
            # ScaleKernel takes its base's active_dims as its own, and the base selects no more
            visit(part.base_kernel, dims, selects=False)
        elif isinstance(part, ProductKernel):
            for factor in part.kernels:
                visit(factor, dims)
        else:
            shape = _read_shape(part, dims)
            taken = sorted(set(dims) & set(shapes))
            if taken:
                raise ValueError(f"unsupported kernel: dimensions {taken} appear in two factors")
            lengthscale = part.lengthscale.detach().double().reshape(-1).clone().expand(len(dims))
            shapes.update(dict.fromkeys(dims, shape))
            lengthscales.update(zip(dims, lengthscale, strict=True))

    visit(kernel, list(range(dimension)))
    if len(shapes) != dimension:
        missing = sorted(set(range(dimension)) - set(shapes))
        raise ValueError(f"unsupported kernel: it does not depend on dimensions {missing} of x")
    return StationaryKernel(
        variance,
        tuple(shapes[i] for i in range(dimension)),
        torch.stack([lengthscales[i] for i in range(dimension)]),
    )


def product_matern(nu: float, dimension: int) -> ProductKernel:
    """A GPyTorch kernel: the product of one-dimensional Matern kernels, each with a lengthscale.

    GPyTorch's own MaternKernel in several dimensions depends on the distance instead; it has no
    closed form under input noise.
    """
    return ProductKernel(*(MaternKernel(nu=nu, active_dims=(i,)) for i in range(dimension)))


def _read_shape(kernel: Kernel, dims: list[int]) -> str:
    for shape in SHAPES.values():
        known = getattr(gpytorch.kernels, shape.gpytorch)
        if type(kernel) is not known or getattr(kernel, "nu", None) != shape.nu:
            continue
        if len(dims) > 1 and shape.nu is not None:
            raise ValueError(
                f"unsupported kernel: {known.__name__} over {len(dims)} dimensions is a function "
                f"of the distance, not a product over dimensions; use {_SUPPORTED}"
            )
        return shape.name
    raise ValueError(f"unsupported kernel {type(kernel).__name__}; use {_SUPPORTED}")


def _read_mean(model: SingleTaskGP) -> Float[Tensor, ""]:
    if isinstance(model.mean_module, ZeroMean):
        return torch.zeros((), dtype=torch.double)
    if isinstance(model.mean_module, ConstantMean):
        return model.mean_module.constant.detach().double().squeeze().clone()
    raise ValueError(
        f"unsupported mean {type(model.mean_module).__name__}; use ConstantMean or ZeroMean"
    )


def _read_noise(model: SingleTaskGP, n: int) -> tuple[Tensor, Tensor]:
    """Per observation, and for a new one: the average, as BoTorch has it."""
    if not isinstance(model.likelihood, (GaussianLikelihood, FixedNoiseGaussianLikelihood)):
        raise ValueError(
            f"unsupported likelihood {type(model.likelihood).__name__}; use GaussianLikelihood "
            "(inferred noise) or FixedNoiseGaussianLikelihood (train_Yvar)"
        )
    noise = model.likelihood.noise.detach().double().reshape(-1).clone()
    return noise.expand(n), noise.mean()


def _read_units(model: SingleTaskGP, dimension: int) -> Units:
    """The affine maps of the transforms."""
    x_map = getattr(model, "input_transform", None)
    y_map = getattr(model, "outcome_transform", None)
    if x_map is not None and (not isinstance(x_map, Normalize) or x_map.reverse):
        raise ValueError(
            f"unsupported input transform {type(x_map).__name__}; use Normalize or none"
        )
    if y_map is not None and not isinstance(y_map, Standardize):
        raise ValueError(
            f"unsupported outcome transform {type(y_map).__name__}; use Standardize or none"
        )
    x_offset, x_width = torch.zeros(dimension).double(), torch.ones(dimension).double()
    if x_map is not None:
        normalised = getattr(x_map, "indices", torch.arange(dimension))
        x_offset[normalised] = x_map.offset.detach().double().reshape(-1)
        x_width[normalised] = x_map.coefficient.detach().double().reshape(-1)
    ends = torch.tensor([[0.0], [1.0]], dtype=torch.double)
    if y_map is not None:
        ends = y_map.untransform(ends)[0].detach().double()
    return Units(
        x_offset=x_offset,
        x_width=x_width,
        y_offset=ends[0, 0],
        y_scale=ends[1, 0] - ends[0, 0],
    )
