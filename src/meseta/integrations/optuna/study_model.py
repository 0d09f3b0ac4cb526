"""What models a study: the settings that the sampler and `recommend` share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from optuna.study import Study, StudyDirection

from meseta.acquisition.methods import DEFAULT_METHOD
from meseta.boundary import unknown
from meseta.integrations.optuna.study_space import StudySpace, edge_within, noise_within
from meseta.noise import Edge, Environment, Substitution
from meseta.noise.scipy_law import read_law
from meseta.optimizer.ask_tell import Optimizer


@dataclass(frozen=True)
class StudyModel:
    """Settings of an `Optimizer` but for the space, which the study has."""

    noise: object
    edge: object = "allow"
    method: str | None = None
    options: object = None
    num_initial: int | None = None
    prior: Any = "default"
    noise_variance: object = None

    def checked(self) -> "StudyModel":
        """Refuses at once what would be refused when the first trials are done."""
        self._optimizer({"x": (0.0, 1.0)}, None, "allow")
        if self.noise is not None:
            for key, law in self._laws().items():
                names = key if isinstance(key, tuple) else (key,)
                if not all(isinstance(name, str) for name in names):
                    raise TypeError(f"noise must name parameters, got {key!r}")
                if not isinstance(law, Environment | Substitution):
                    read_law("noise" if key == () else f"the noise of {key!r}", law)
        for word in self.edge.values() if isinstance(self.edge, Mapping) else (self.edge,):
            if word not in get_args(Edge):
                raise ValueError(unknown("edge", word, get_args(Edge)))
        return self

    def optimizer(self, study: Study, space: StudySpace, seed: int = 0) -> Optimizer:
        """An optimizer without trials for these parameters of the study."""
        noise = noise_within(self.noise, space.inside)
        edge = edge_within(self.edge, space.inside)
        minimize = study.direction == StudyDirection.MINIMIZE
        return self._optimizer(
            space.space, noise, edge, "minimize" if minimize else "maximize", seed
        )

    def observed(self) -> tuple[str, ...]:
        """Environment variables that cannot be set."""
        laws = self._laws().items()
        return tuple(n for n, law in laws if isinstance(law, Environment) and law.observed)

    def _laws(self) -> Mapping[Any, Any]:
        return self.noise if isinstance(self.noise, Mapping) else {(): self.noise}

    def _optimizer(
        self, space: Any, noise: Any, edge: Any, direction: Any = "maximize", seed: int = 0
    ) -> Optimizer:
        variance: Any = self.noise_variance
        return Optimizer(
            space,
            noise,
            edge=edge,
            direction=direction,
            method=DEFAULT_METHOD if self.method is None else self.method,
            options=self.options,
            seed=seed,
            num_initial=self.num_initial,
            prior=self.prior,
            noise_variance=variance,
        )
