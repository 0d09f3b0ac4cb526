"""Whether a surrogate has the values of the BoTorch model that it was read from."""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from botorch.models import SingleTaskGP
from gpytorch.distributions import MultivariateNormal
from jaxtyping import Float
from linear_operator.settings import max_cholesky_size
from linear_operator.utils.errors import NotPSDError
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor

from meseta.gp.joint import JointPosterior, condition
from meseta.gp.observed import Coming
from meseta.gp.surrogate import Surrogate
from meseta.kernels import smooth
from meseta.noise import Normal

# What values are computed by: whoever has one of these anew has other values than its
# hyper-parameters say.
_COMPUTING = (
    "__call__",
    "forward",
    "posterior",
    "transform_inputs",
    "marginal",
    "transform",
    "untransform",
    "untransform_posterior",
)
NUM_PLACES = 8  # data points at which, and around which, values are compared
# Distances that GPyTorch takes from squares are exact to the square root of rounding.
SLACK = 30.0
# GPyTorch adds up to 1e-6 to a covariance in double precision (1e-4 in single), if it has to.
JITTER = 100.0


def refuse_replaced(part: object, known: type) -> None:
    """Refuse a part of a model that computes otherwise than the class whose values are read."""
    kind = type(part)
    names = [
        name
        for name in _COMPUTING
        if name in vars(part) or getattr(kind, name, None) is not getattr(known, name, None)
    ]
    if names:
        raise ValueError(
            f"unsupported {kind.__name__}: it has its own {' and '.join(names)}, of which the "
            f"hyper-parameters of {known.__name__} say nothing; use {known.__name__} as it is"
        )


@torch.no_grad()
def refuse_other_values(model: SingleTaskGP, surrogate: Surrogate) -> None:
    """Refuse a model whose values of f are not those of its hyper-parameters."""
    if not len(surrogate.X):
        return
    for name, theirs, ours, allowed in _compared(model, surrogate):
        off = (theirs.double() - ours).abs()
        if not (off <= allowed).all():
            i = int((off - allowed).argmax())
            raise ValueError(
                f"unsupported model: by its hyper-parameters {name} is "
                f"{float(ours.flatten()[i]):.6g}, but the model itself has "
                f"{float(theirs.flatten()[i]):.6g}, in its own units; a part of it computes "
                "otherwise than BoTorch's own, or it was changed after its last prediction: use "
                "BoTorch's parts, and call model.train() and model.eval() after a change"
            )


def _compared(
    model: SingleTaskGP, surrogate: Surrogate
) -> Iterator[tuple[str, Tensor, Tensor, Tensor]]:
    """What is compared: its name, the value of the model, ours, and what rounding can do."""
    units, variance = surrogate.units, surrogate.kernel.variance
    raw = units.x_to_raw(_places(surrogate)).to(model.train_inputs[0])
    x = units.x_to_model(raw.double())
    eps = torch.finfo(raw.dtype).eps
    far = (x.amax(0) - x.amin(0)) / surrogate.kernel.lengthscale
    rounding = SLACK * eps**0.5 * (1 + far.amax())
    size = variance.sqrt() + surrogate.mean.abs()

    coming = Coming(surrogate.new_noise_variance)
    kernel = smooth(surrogate.kernel, Normal(0.0))
    prior = model.forward(model.transform_inputs(raw))
    yield "the prior mean", prior.mean, surrogate.mean.expand(len(x)), rounding * size
    covariance = prior.covariance_matrix
    yield "a prior covariance", covariance, kernel.k_f(x, x), rounding * variance

    data = model.forward(model.train_inputs[0])
    noise = _variance(model.likelihood(data, model.train_inputs)) - _variance(data)
    s2 = surrogate.noise_variance
    yield "the noise variance", noise, s2, rounding * s2 + SLACK * eps * (variance + s2)

    def conditioned(s2: Float[Tensor, " n"]) -> JointPosterior:
        return condition(kernel, surrogate.mean, surrogate.X, surrogate.y, s2, coming)

    ours = conditioned(s2).moments(x)
    # what as little as GPyTorch may add to the diagonal changes, rounding may change as well
    changed = conditioned(s2 + JITTER * eps**0.5 * variance).moments(x)
    if (theirs := _posterior(model, raw)) is None:
        return
    mean, v_f = units.y_to_model(theirs[0]), theirs[1] / units.y_scale**2
    # a solution is as exact as rounding times the condition number
    solved = SLACK * eps * len(s2) * variance / (s2.amin() + eps * variance)
    size = size + surrogate.y.abs().amax()
    raw_rounding = SLACK * eps * (units.y_offset / units.y_scale).abs()
    allowed = (rounding + solved) * size + raw_rounding + SLACK * (ours.m_f - changed.m_f).abs()
    yield "the posterior mean", mean, ours.m_f, allowed
    allowed = (rounding + solved) * variance + SLACK * (ours.v_f - changed.v_f).abs()
    yield "the posterior variance", v_f, ours.v_f, allowed


def _variance(distribution: MultivariateNormal) -> Tensor:
    """The variances as they are: GPyTorch's own raises small ones."""
    return distribution.lazy_covariance_matrix.diagonal(dim1=-2, dim2=-1)


def _posterior(model: Any, x: Tensor) -> tuple[Tensor, Tensor] | None:
    """Mean and variance by the model, exact for many data, too; None: it cannot factorise them."""
    before, num = model.prediction_strategy, model.train_targets.numel()
    if num > max_cholesky_size.value():
        model.prediction_strategy = None
    try:
        with warnings.catch_warnings(), max_cholesky_size(num):
            warnings.simplefilter("ignore", NumericalWarning)  # jitter
            distribution = model.posterior(x).distribution
            return distribution.mean.double(), _variance(distribution).double()
    except NotPSDError:
        return None
    finally:
        model.prediction_strategy = before  # the caches of the user


def _places(surrogate: Surrogate) -> Float[Tensor, "m d"]:
    """Some of the data, places half a lengthscale from them, and halfway from each to the next."""
    X = surrogate.X[:: -(-len(surrogate.X) // NUM_PLACES)]
    near = X + surrogate.kernel.lengthscale / 2
    near = torch.minimum(near, surrogate.X.amax(0))
    return torch.cat([X, near, (X + X.roll(1, 0)) / 2])
