"""The settings of a study: those of the parameters that it has, by the names they have inside."""

from collections.abc import Mapping
from dataclasses import replace

from optuna.study import Study, StudyDirection

from meseta.integrations.optuna.study_space import StudySpace, edge_within, noise_within
from meseta.noise import Environment
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.settings import Settings


def optimizer_of(study: Study, space: StudySpace, settings: Settings) -> Optimizer:
    """An optimizer without trials for these parameters of the study, in its direction."""
    initial = settings.initial
    within = replace(
        settings,
        noise=noise_within(settings.noise, space.inside),
        edge=edge_within(settings.edge, space.inside),
        direction="minimize" if study.direction == StudyDirection.MINIMIZE else "maximize",
        initial=initial if isinstance(initial, str) else list(map(space.to_meseta, initial)),
    )
    return Optimizer(space.space, settings=within)


def observed(settings: Settings) -> tuple[str, ...]:
    """Environment variables that cannot be set."""
    laws = settings.noise if isinstance(settings.noise, Mapping) else {}
    return tuple(
        str(name) for name, law in laws.items() if isinstance(law, Environment) and law.observed
    )
