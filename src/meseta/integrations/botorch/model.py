"""A BoTorch Model of g, so that BoTorch's acquisition functions can look at g instead of f."""

from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from botorch.sampling.base import MCSampler
from gpytorch.distributions import MultivariateNormal
from linear_operator import to_linear_operator
from linear_operator.utils.cholesky import psd_safe_cholesky
from torch import Tensor

from meseta.gp.joint import JointPosterior
from meseta.gp.robust import RobustPosterior
from meseta.noise import NoiseLaw
from meseta.space.recording import recordable


class RobustModel(Model):
    """The posterior of g as a BoTorch model.

    Observations are always of f, since g cannot be observed: `condition_on_observations` and
    `fantasize` add values of f and return the model of g that follows from them.
    `observation_noise=True` adds the noise of f's observations to g, the hypothetical
    z = g(x) + noise of "BO under uncertainty" [Beland and Nair 2017].
    """

    def __init__(
        self, robust: RobustPosterior, X_new: Tensor | None = None, Y_new: Tensor | None = None
    ) -> None:
        """`X_new` (*batch x q x d) and `Y_new` (*batch x q): observations of f on top."""
        super().__init__()
        self.robust = robust
        self.X_new = X_new
        self.Y_new = Y_new

    @classmethod
    def from_model(
        cls, model: object, noise: NoiseLaw, bounds: Tensor | None = None
    ) -> "RobustModel":
        """From what `RobustPosterior.from_model` takes; `bounds` hold all designs (2 x d)."""
        return cls(RobustPosterior.from_model(model, noise, bounds))

    @property
    def num_outputs(self) -> int:
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        return torch.Size() if self.Y_new is None else self.Y_new.shape[:-1]

    @property
    def train_inputs(self) -> tuple[Tensor]:
        """The data, in raw units."""
        return (self.robust.units.x_to_raw(self.robust.core.X),)

    def subset_output(self, idcs: list[int]) -> "RobustModel":
        if list(idcs) != [0]:
            raise ValueError(f"the model of g has one output, index 0; got {idcs}")
        return self

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """The joint posterior of g at each q rows of X (*batch x q x d), in raw units.

        A tensor `observation_noise` (*batch x q x 1) is in the units of the model, as in BoTorch.
        """
        if output_indices is not None:
            self.subset_output(output_indices)
        with recordable():
            result = self._posterior(self._checked(X), observation_noise)
        return result if posterior_transform is None else posterior_transform(result)

    def _checked(self, X: Tensor) -> Tensor:
        if X.ndim < 2:
            raise ValueError(
                f"expected X of shape (..., q, d), got {tuple(X.shape)}; for a single point use "
                "X[None]"
            )
        return self.robust.checked(X)

    def _posterior(self, X: Tensor, observation_noise: bool | Tensor) -> GPyTorchPosterior:
        core, units = self.robust.core, self.robust.units
        x = units.x_to_model(X)
        mean, covariance = core.mean_g(x), _sound(core.covariance_g(x, x), core)
        if self.X_new is not None and self.Y_new is not None:
            # Gaussian conditioning of g(x) on the values of f at the new points
            x_new = units.x_to_model(self.X_new)
            L = psd_safe_cholesky(_with_noise(core.covariance_f(x_new, x_new), core))
            residual = units.y_to_model(self.Y_new) - core.mean_f(x_new)
            cross = core.covariance_gf(x, x_new).mT
            gain = torch.cholesky_solve(cross, L).mT
            mean = mean + (gain @ residual[..., None]).squeeze(-1)
            covariance = covariance - gain @ cross
        if isinstance(observation_noise, Tensor):
            added = observation_noise.double().squeeze(-1).expand(mean.shape)
            covariance = covariance + torch.diag_embed(added)
        elif observation_noise:
            covariance = _with_noise(covariance, core)
        return _gaussian(units.y_to_raw(mean), covariance * units.y_scale**2)

    def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: Any) -> "RobustModel":
        """The model of g given that f was observed to be Y (*batch x q x 1) at X.

        The noise of the new observations is that of the model.
        """
        _refuse_noise(kwargs.get("noise"))
        x = self._checked(X)
        if Y.ndim < 2 or Y.shape[-1] != 1 or Y.shape[-2] != x.shape[-2]:
            raise ValueError(
                f"expected Y of shape (..., {x.shape[-2]}, 1), a value of f for each row of X, "
                f"got {tuple(Y.shape)}"
            )
        if not Y.isfinite().all():
            raise ValueError("Y has NaN or infinite values; leave failed evaluations out")
        with recordable():
            return self._conditioned(x, Y.clone().double().squeeze(-1))

    def _conditioned(self, x: Tensor, y: Tensor) -> "RobustModel":
        y = y.expand(*torch.broadcast_shapes(x.shape[:-1], y.shape))
        x = x.expand(*y.shape, x.shape[-1])
        if self.X_new is not None and self.Y_new is not None:
            X_new = self.X_new.expand(*y.shape[:-1], *self.X_new.shape[-2:])
            x = torch.cat([X_new, x], dim=-2)
            y = torch.cat([self.Y_new.expand(*X_new.shape[:-1]), y], dim=-1)
        return RobustModel(self.robust, x, y)

    def fantasize(
        self, X: Tensor, sampler: MCSampler, observation_noise: Tensor | None = None, **kwargs: Any
    ) -> "RobustModel":
        """Condition on values of f sampled at X: one model per sample."""
        _refuse_noise(observation_noise)
        core, units = self.robust.core, self.robust.units
        if self.X_new is not None:
            raise NotImplementedError("fantasies on top of fantasies are not supported")
        with recordable():
            x = units.x_to_model(self._checked(X))
            values = _gaussian(
                units.y_to_raw(core.mean_f(x)),
                _with_noise(core.covariance_f(x, x), core) * units.y_scale**2,
            )
        return self.condition_on_observations(X, sampler(values))


def _refuse_noise(noise: object) -> None:
    if noise is not None:
        raise NotImplementedError(
            "new observations have the noise of the model; a noise of their own is not supported"
        )


def _gaussian(mean: Tensor, covariance: Tensor) -> GPyTorchPosterior:
    # as a linear operator, so that GPyTorch factorises late and with jitter: g is smooth, and at
    # many points its covariance is singular
    return GPyTorchPosterior(MultivariateNormal(mean, to_linear_operator(covariance)))


def _sound(covariance: Tensor, core: JointPosterior) -> Tensor:
    """With variances that are not negative: GPyTorch would raise them, and warn of rounding."""
    variance = covariance.diagonal(dim1=-2, dim2=-1)
    sound = core.clamped.sound("Var[g(x)]", variance, core.kernel.prior_variance)
    return covariance + torch.diag_embed(sound - variance)


def _with_noise(covariance: Tensor, core: JointPosterior) -> Tensor:
    return covariance + core.new_noise_variance * torch.eye(
        covariance.shape[-1], dtype=covariance.dtype
    )
