"""The settings of a study: those of the parameters that it has, by the names they have inside."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from optuna.study import Study, StudyDirection

from meseta.integrations.optuna.study_space import StudySpace, edge_within, noise_within
from meseta.noise import Environment
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.settings import Settings, read_settings
from meseta.space.allowed import Rule, check_rules, read_rule
from meseta.space.space import Design


def study_settings(settings: Settings | None, keywords: Mapping[str, Any]) -> Settings:
    """The settings that a user passes for a study; the noise must be among them.

    Without it the sampler would be one that knows of no noise, and nobody would see that.
    """
    if settings is None and "noise" not in keywords:
        raise TypeError(
            "noise is missing: say what perturbs a design, noise={'x': meseta.Normal(0.1)}, or "
            "noise=None if nothing does"
        )
    return read_settings(settings, keywords)


def optimizer_of(study: Study, space: StudySpace, settings: Settings) -> Optimizer:
    """An optimizer without trials for these parameters of the study, in its direction."""
    initial = settings.initial
    within = replace(
        settings,
        noise=noise_within(settings.noise, space.inside),
        edge=edge_within(settings.edge, space.inside),
        direction="minimize" if study.direction == StudyDirection.MINIMIZE else "maximize",
        allowed=tuple(_rule_within(rule, space) for rule in check_rules(settings.allowed)),
        initial=initial if isinstance(initial, str) else list(map(space.to_meseta, initial)),
    )
    return Optimizer(space.space, settings=within)


def _rule_within(rule: Rule, space: StudySpace) -> Callable[[Design], bool]:
    """A rule about the parameters of the study, as one about those inside."""
    numbers = [*(space.outside[name] for name in space.space.ranges), *space.fixed]
    holds = read_rule(rule, numbers)
    return lambda design: holds({**space.fixed, **space.to_optuna(design)})


def observed(settings: Settings) -> tuple[str, ...]:
    """Environment variables that cannot be set."""
    laws = settings.noise if isinstance(settings.noise, Mapping) else {}
    return tuple(
        str(name) for name, law in laws.items() if isinstance(law, Environment) and law.observed
    )
