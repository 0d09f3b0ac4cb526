"""BoTorch models: those of users are read, and a surrogate goes out as one."""

import gpytorch.kernels
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.constraints import Positive
from gpytorch.kernels import Kernel, MaternKernel, ProductKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, ZeroMean
from gpytorch.settings import min_fixed_noise
from jaxtyping import Float
from torch import Tensor

from meseta.gp.agreement import refuse_other_values, refuse_replaced
from meseta.gp.surrogate import Surrogate, Units
from meseta.kernels import StationaryKernel
from meseta.kernels.shapes import SHAPES
from meseta.kernels.stationary import Shape

_SUPPORTED = (
    "RBFKernel, ScaleKernel of it, or a ProductKernel of one-dimensional MaternKernels "
    "(meseta.integrations.botorch.product_matern builds one)"
)


def to_botorch(surrogate: Surrogate) -> SingleTaskGP:
    """A SingleTaskGP with the data, the units and the hyper-parameters of a surrogate."""
    units, d = surrogate.units, surrogate.X.shape[1]
    noise_variance = surrogate.noise_variance
    likelihood, given = None, None
    if (noise_variance == noise_variance[0]).all() and noise_variance[0] > 0:
        likelihood = GaussianLikelihood(noise_constraint=_positive()).double()
    else:
        given = (noise_variance * units.y_scale**2)[:, None]
    plain = float(units.y_offset) == 0 and float(units.y_scale) == 1
    constant = float(surrogate.y.abs().max()) < 1e-6  # values that differ by rounding
    standardize = Standardize(1, min_stdv=torch.inf if constant else 1e-300)
    # GPyTorch would silently raise a given noise variance to 1e-6
    with min_fixed_noise(double_value=0.0):
        model = SingleTaskGP(
            units.x_to_raw(surrogate.X),
            units.y_to_raw(surrogate.y)[:, None],
            given,
            likelihood=likelihood,
            covar_module=_kernel(surrogate.kernel),
            input_transform=Normalize(
                d, bounds=torch.stack([units.x_offset, units.x_offset + units.x_width])
            ),
            outcome_transform=None if plain else standardize,
        )
    if not torch.allclose(model.train_targets, surrogate.y, rtol=1e-6, atol=1e-6):
        raise ValueError(
            "BoTorch's Standardize has other units for these values than the surrogate; fit one "
            "to them by fit_surrogate"
        )
    if likelihood is not None:
        model.likelihood.noise = noise_variance[0]
    model.mean_module.constant = surrogate.mean
    return model.eval()


def _kernel(kernel: StationaryKernel) -> ScaleKernel:
    """The same in GPyTorch."""
    d = len(kernel.shapes)
    parts: list[Kernel]
    if kernel.gaussian:
        parts = [base := RBFKernel(ard_num_dims=d, lengthscale_constraint=_positive())]
    else:
        parts = [_factor(i, SHAPES[name]) for i, name in enumerate(kernel.shapes)]
        base = ProductKernel(*parts)
    # double first: what is set before would be rounded
    scaled = ScaleKernel(base, outputscale_constraint=_positive()).double()
    for part, lengthscale in zip(parts, kernel.lengthscale.split(d // len(parts)), strict=True):
        part.lengthscale = lengthscale
    scaled.outputscale = kernel.variance
    return scaled


def _factor(i: int, shape: Shape) -> Kernel:
    order = {} if shape.nu is None else {"nu": shape.nu}
    kind = getattr(gpytorch.kernels, shape.gpytorch)
    return kind(active_dims=(i,), lengthscale_constraint=_positive(), **order)


def _positive() -> Positive:
    """On a logarithmic scale, where quantities may span decades."""
    return Positive(transform=torch.exp, inv_transform=torch.log)


def read_model(model: object) -> Surrogate:
    """What a fitted single-output SingleTaskGP has learned. Puts the model into eval mode."""
    if not isinstance(model, SingleTaskGP):
        raise TypeError(
            f"expected a fitted botorch SingleTaskGP, got {type(model).__name__}; "
            "fit one to your data first"
        )
    refuse_replaced(model, SingleTaskGP)
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
    surrogate = Surrogate(
        kernel=read_kernel(model.covar_module, X.shape[-1]),
        mean=_read_mean(model),
        X=X,
        y=y,
        noise_variance=noise_variance,
        new_noise_variance=new_noise_variance,
        units=_read_units(model, X.shape[-1]),
    )
    refuse_other_values(model, surrogate)
    return surrogate


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
            refuse_replaced(part, ScaleKernel)
            variance = variance * part.outputscale.detach().double().squeeze()
            # ScaleKernel takes its base's active_dims as its own, and the base selects no more
            visit(part.base_kernel, dims, selects=False)
        elif isinstance(part, ProductKernel):
            refuse_replaced(part, ProductKernel)
            for factor in part.kernels:
                visit(factor, dims)
        else:
            shape = _read_shape(part, dims)
            refuse_replaced(part, type(part))
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
    lengthscale = torch.stack([lengthscales[i] for i in range(dimension)])
    for name, value in {"lengthscale": lengthscale, "outputscale": variance}.items():
        if not (value.isfinite() & (value > 0)).all():
            raise ValueError(
                f"the kernel's {name} must be positive and finite, got {value.tolist()}; set it "
                f"by kernel.{name} = ..., not by its raw parameter"
            )
    return StationaryKernel(variance, tuple(shapes[i] for i in range(dimension)), lengthscale)


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
        refuse_replaced(model.mean_module, ZeroMean)
        return torch.zeros((), dtype=torch.double)
    if isinstance(model.mean_module, ConstantMean):
        refuse_replaced(model.mean_module, ConstantMean)
        constant = model.mean_module.constant.detach().double().squeeze().clone()
        if not constant.isfinite():
            raise ValueError(f"the constant mean must be finite, got {float(constant)}")
        return constant
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
    fixed = isinstance(model.likelihood, FixedNoiseGaussianLikelihood)
    refuse_replaced(model.likelihood, FixedNoiseGaussianLikelihood if fixed else GaussianLikelihood)
    noise = model.likelihood.noise.detach().double().reshape(-1).clone()
    if not (noise.isfinite() & (noise >= 0)).all():
        raise ValueError(
            f"the noise variance must be finite and not negative, got {noise.tolist()}; set it by "
            "likelihood.noise = ..., not by its raw parameter"
        )
    return noise.expand(n), noise.mean()


def _read_units(model: SingleTaskGP, dimension: int) -> Units:
    """The affine maps of the transforms."""
    x_map = getattr(model, "input_transform", None)
    y_map = getattr(model, "outcome_transform", None)
    if x_map is not None and (not isinstance(x_map, Normalize) or x_map.reverse):
        reverse = "reversed " if isinstance(x_map, Normalize) else ""
        raise ValueError(
            f"unsupported input transform, {reverse}{type(x_map).__name__}; use Normalize or none"
        )
    if y_map is not None and not isinstance(y_map, Standardize):
        raise ValueError(
            f"unsupported outcome transform {type(y_map).__name__}; use Standardize or none"
        )
    for transform, known in ((x_map, Normalize), (y_map, Standardize)):
        if transform is not None:
            refuse_replaced(transform, known)
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
