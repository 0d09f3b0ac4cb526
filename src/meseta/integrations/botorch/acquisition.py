"""The methods as BoTorch acquisition functions, in raw units, one point at a time."""

from functools import partial
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.argmax import MaximizeInfo
from meseta.acquisition.given_max import ConditionedMoments, GivenMax, moments_given_max
from meseta.acquisition.knowledge_gradient import KGOptions, prepare_knowledge_gradient
from meseta.acquisition.nes import NES, NESOptions, nes_given, prepare_nes
from meseta.acquisition.prepared import Prepare
from meseta.gp.botorch_models import to_botorch
from meseta.gp.joint import JointPosterior
from meseta.gp.maxima import MaximaOptions
from meseta.gp.paths import Sampler
from meseta.gp.robust import RobustPosterior, as_surrogate, raw_moments
from meseta.gp.surrogate import Surrogate
from meseta.noise import NoiseLaw
from meseta.optimizer.suggest import maximize_prepared, prepare_method
from meseta.space.domain import Domain, as_domain, checked_domain
from meseta.space.recording import check_recordable, recordable


class RobustAcquisition(AcquisitionFunction):
    """Any method as a BoTorch acquisition function, in raw units, one point at a time.

    Pending points count as observed, with their posterior mean as their value.
    """

    def __init__(
        self,
        model: Any,
        noise: NoiseLaw,
        bounds: Tensor | Domain,
        prepare: Prepare,
        X_pending: Tensor | None = None,
        seed: int = 0,
    ) -> None:
        """Prepare the method for a fitted single-output SingleTaskGP of f.

        Args:
            model: The fitted model of f, or a surrogate.
            noise: The law of xi, in the raw units of x.
            bounds: 2 x d, the box in which g is maximised, in raw units; or a Domain, where parts
                of it are discrete.
            prepare: The method.
            X_pending: Points under evaluation (p x d).
            seed: The same seed gives the same acquisition function.
        """
        super().__init__(model=to_botorch(model) if isinstance(model, Surrogate) else model)
        box = as_domain(bounds).bounds
        self.robust = RobustPosterior.from_model(model, noise, box)  # without pending points
        self.domain = checked_domain(bounds, self.robust.dimension)
        self.prepare, self.seed = prepare, seed
        self.set_X_pending(X_pending)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        """Condition on pending points (p x d), with their mean as their value."""
        check_recordable()
        pending = None
        if X_pending is not None and X_pending.numel():
            if X_pending.ndim != 2:
                raise ValueError(
                    f"expected X_pending of shape (p, d), a row for each point under evaluation, "
                    f"got {tuple(X_pending.shape)}"
                )
            raw = self.robust.checked(X_pending.detach())
            pending = self.robust.units.x_to_model(raw)
        self.prepared = prepare_method(
            self.robust.core, self._domain_of_model, self.prepare, self.seed, pending
        )
        super().set_X_pending(X_pending)

    @property
    def _domain_of_model(self) -> Domain:
        return self.domain.mapped(self.robust.units.x_to_model)

    @property
    def bounds(self) -> Float[Tensor, "2 d"]:
        """The box in which g is maximised, in raw units."""
        return self.domain.bounds

    @property
    def info(self) -> Any:
        """What the method recorded about itself; values in raw units."""
        return self.prepared.info.raw(self.robust.units)

    @property
    def starts(self) -> Float[Tensor, "s d"]:
        """Where the function is likely to be high."""
        return self.robust.units.x_to_raw(self.prepared.starts)

    def maximized(self) -> tuple[Float[Tensor, " d"], MaximizeInfo]:
        """The admissible design where it is highest, without global randomness."""
        x, info = maximize_prepared(
            self.prepared, self.robust.core, self._domain_of_model, self.seed
        )
        return self.domain.snap(self.robust.units.x_to_raw(x)), info

    def forward(self, X: Tensor) -> Tensor:
        """The values at X (b x 1 x d), as a tensor of shape b; double where X is of integers."""
        X = X.unsqueeze(0) if X.ndim == 2 else X
        if X.ndim < 2 or X.shape[-2] != 1:
            raise ValueError(
                f"expected X of shape (b, 1, d), got {tuple(X.shape)}: one point at a time; "
                "for a batch of points use optimize_acqf(..., q=q, sequential=True)"
            )
        with recordable():
            x = self.robust.units.x_to_model(self.robust.checked(X.squeeze(-2)))
            values = self.prepared.value(x.reshape(-1, x.shape[-1])).view(x.shape[:-1])
        return values.to(X) if X.is_floating_point() else values


class NoisyInputEntropySearch(RobustAcquisition):
    """NES-EP as a BoTorch acquisition function.

    Example:
        >>> acq = NoisyInputEntropySearch(model, Normal(0.05), bounds, seed=0)
        >>> x, value = optimize_acqf(acq, bounds, q=1, num_restarts=10, raw_samples=256)
    """

    prepared: NES

    def __init__(
        self,
        model: Any,
        noise: NoiseLaw,
        bounds: Tensor | Domain,
        num_max_values: int = 1,
        max_values: Tensor | None = None,
        X_pending: Tensor | None = None,
        seed: int = 0,
        num_paths: int = MaximaOptions.num_paths,
        num_features: int = MaximaOptions.num_features,
        sampler: Sampler = MaximaOptions.sampler,
    ) -> None:
        """NES for a fitted single-output SingleTaskGP.

        Args:
            model: The fitted model of f, or a surrogate.
            noise: The law of xi, in the raw units of x.
            bounds: 2 x d, the box in which g is maximised, in raw units; or a Domain.
            num_max_values: K, how many values of g* to average over (paper: 1).
            max_values: Values of g* in raw units; if given, none are sampled.
            X_pending: Points under evaluation (p x d): their outcome is taken to be its mean.
            seed: Seeds the sample paths; the same seed gives the same acquisition function.
            num_paths: Paths of g whose maxima are the samples of g*.
            num_features: Random Fourier features of each path.
            sampler: "pathwise", or the paper's "sparse-spectrum".
        """
        prepare: Prepare
        if max_values is None:
            options = NESOptions(num_paths, num_features, sampler, num_max_values)
            prepare = partial(prepare_nes, options=options)
        else:
            units, values = as_surrogate(model).units, _checked_values(max_values)
            prepare = partial(_prepare_given, g_star=units.y_to_model(values))
        super().__init__(model, noise, bounds, prepare, X_pending, seed)

    @property
    def state(self) -> GivenMax:
        """The posterior given g*, in the units of the model."""
        return self.prepared.state

    def conditioned(self, x: Float[Tensor, "m d"]) -> ConditionedMoments:
        """Predictive moments of f and g given each g*, in raw units (the paper's Fig. 1)."""
        units = self.robust.units
        given = moments_given_max(self.state, units.x_to_model(self.robust.checked(x)))
        square = units.y_scale**2
        return ConditionedMoments(
            m_f=units.y_to_raw(given.m_f),
            v_f=given.v_f * square,
            m_g=units.y_to_raw(given.m_g),
            v_g=given.v_g * square,
            explained=given.explained,
            before=raw_moments(given.before, units),
        )


def _prepare_given(
    posterior: JointPosterior,
    domain: Domain,
    generator: torch.Generator,
    g_star: Float[Tensor, " k"],
) -> NES:
    """NES given values of g*, in the units of the model."""
    return nes_given(posterior, g_star, posterior.X[:0])


def _checked_values(max_values: Tensor) -> Float[Tensor, " k"]:
    values = torch.as_tensor(max_values, dtype=torch.double).reshape(-1)
    if not len(values) or not values.isfinite().all():
        raise ValueError(f"max_values must be one or more finite numbers, got {values.tolist()}")
    return values


class RobustKnowledgeGradient(RobustAcquisition):
    """log rKG as a BoTorch acquisition function.

    Example:
        >>> acq = RobustKnowledgeGradient(model, Normal(0.05), bounds)
        >>> x, value = optimize_acqf(acq, bounds, q=1, num_restarts=10, raw_samples=256)
    """

    def __init__(
        self,
        model: Any,
        noise: NoiseLaw,
        bounds: Tensor | Domain,
        options: KGOptions | None = None,
        X_pending: Tensor | None = None,
        seed: int = 0,
    ) -> None:
        """For a fitted single-output SingleTaskGP; all in raw units, see RobustAcquisition."""
        prepare = partial(prepare_knowledge_gradient, options=options or KGOptions())
        super().__init__(model, noise, bounds, prepare, X_pending, seed)
