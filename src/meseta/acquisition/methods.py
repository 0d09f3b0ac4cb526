"""Every method by its name: its settings, what it maximises next, and what it believes in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple, get_args, get_type_hints

from meseta.acquisition.constrained_gradient import prepare_constrained
from meseta.acquisition.improvement import (
    EIOptions,
    UCBOptions,
    prepare_ei,
    prepare_ei_of_f,
    prepare_ucb,
)
from meseta.acquisition.knowledge_gradient import KGOptions, prepare_knowledge_gradient
from meseta.acquisition.mes import prepare_mes
from meseta.acquisition.nes import NESOptions, prepare_nes
from meseta.acquisition.prepared import Prepare, Prepared
from meseta.acquisition.rejection import RejectionOptions, prepare_rejection
from meseta.acquisition.unscented import UnscentedOptions, prepare_unscented_ei, unscented_mean
from meseta.boundary import read_count, read_number, unknown
from meseta.gp.joint import JointPosterior
from meseta.gp.limited import LimitedOutcome
from meseta.gp.mixture import Mean as MeanOf
from meseta.measures import Mean, Measure

DEFAULT_METHOD = "rkg"


@dataclass(frozen=True)
class SobolOptions:
    """Quasi-random points have no settings."""


class Method(NamedTuple):
    """`belief` gives the mean whose maximum is recommended, from the posterior and the options."""

    title: str
    options: type[Any]
    prepare: Callable[..., Prepared] | None  # None: the next point of a Sobol sequence
    belief: Callable[[JointPosterior, Any], MeanOf]
    beyond: bool = False  # whether it can tell what points are worth that are no designs
    measures: bool = False  # whether it serves others than the mean
    constrained: Callable[..., Prepared] | None = None  # where other outcomes have limits
    unseen: bool = False  # whether it knows what an experiment tells that the noise acted on


def mean_of_g(posterior: JointPosterior, options: Any) -> MeanOf:
    return posterior.mean_g


def _mean_of_f(posterior: JointPosterior, options: Any) -> MeanOf:
    return posterior.mean_f


def _unscented_mean(posterior: JointPosterior, options: UnscentedOptions) -> MeanOf:
    return unscented_mean(posterior, options.kappa)


METHODS = {
    "nes-ep": Method("NES-EP", NESOptions, prepare_nes, mean_of_g),
    "nes-rs": Method("NES-RS", RejectionOptions, prepare_rejection, mean_of_g),
    "rkg": Method(
        "Robust KG",
        KGOptions,
        prepare_knowledge_gradient,
        mean_of_g,
        beyond=True,
        measures=True,
        constrained=prepare_constrained,
        unseen=True,
    ),
    "uu-ei": Method("BO-UU EI", EIOptions, prepare_ei, mean_of_g),
    "uu-ucb": Method("BO-UU UCB", UCBOptions, prepare_ucb, mean_of_g),
    "uu-mes": Method("BO-UU MES", NESOptions, prepare_mes, mean_of_g),
    "unscented-ei": Method("Unsc. BO", UnscentedOptions, prepare_unscented_ei, _unscented_mean),
    "ei": Method("Standard BO EI", EIOptions, prepare_ei_of_f, _mean_of_f),
    "sobol": Method(
        "Sobol", SobolOptions, None, mean_of_g, beyond=True, measures=True, unseen=True
    ),
}


def names() -> list[str]:
    """The names that `method=` takes."""
    return list(METHODS)


def get(name: str) -> Method:
    """The method of that name."""
    if not isinstance(name, str) or name not in METHODS:
        raise ValueError(unknown("method", name, METHODS))
    return METHODS[name]


def checked_options(name: str, options: object = None) -> Any:
    """The settings of a method: none (its defaults), a mapping, or an instance of its own type."""
    kind = get(name).options
    if options is None:
        return kind()
    if isinstance(options, kind):
        return options
    if not isinstance(options, Mapping):
        raise TypeError(
            f"options of {name!r} must be a dictionary or {kind.__name__}, got {options!r}"
        )
    known = {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}
    for key in options:
        if key not in known:
            raise ValueError(unknown(f"option of {name!r} called", key, known))
    return kind(**{key: _read(name, key, value, known[key]) for key, value in options.items()})


def prepare(
    name: str,
    options: object = None,
    measure: Measure | None = None,
    outcomes: Sequence[LimitedOutcome] = (),
) -> Prepare | None:
    """What makes an acquisition function of a posterior; None for a method that has none.

    `measure` is in the units of the posterior; None: the mean. `outcomes` are others of the same
    experiments, which have limits to keep.
    """
    method, settings = get(name), checked_options(name, options)
    if method.prepare is None:
        return None
    made = partial(method.prepare, options=settings)
    if outcomes:
        check_constraints(name)
        assert method.constrained is not None
        made = partial(method.constrained, options=settings, outcomes=outcomes)
    if measure is None:
        return made
    check_measure(name, measure)
    return partial(made, measure=measure)


def check_constraints(name: str) -> None:
    """Refuse a method that knows of no constraints."""
    method = get(name)
    if method.prepare is None or method.constrained is not None:
        return
    able = [each for each, m in METHODS.items() if m.prepare is None or m.constrained is not None]
    raise ValueError(
        f"the method {name!r} knows of one outcome only, and cannot serve constraints on others; "
        f"take one of {', '.join(map(repr, able))}"
    )


def check_unseen(name: str) -> None:
    """Refuse a method that takes every experiment for one of f itself."""
    if get(name).unseen:
        return
    able = ", ".join(repr(each) for each, method in METHODS.items() if method.unseen)
    raise ValueError(
        f"the method {name!r} takes it that f(x) is observed, and not f where the noise took x "
        f'unseen (executed="unseen"); take one of {able}'
    )


def check_measure(name: str, measure: Measure) -> None:
    """Refuse a measure that a method cannot serve."""
    if isinstance(measure, Mean) or get(name).measures:
        return
    able = ", ".join(repr(each) for each, method in METHODS.items() if method.measures)
    raise ValueError(
        f"the method {name!r} looks for the best mean of f(x + xi), and not for {measure}; take "
        f'one of {able}, or measure="mean"'
    )


def _read(name: str, key: str, value: object, kind: Any) -> object:
    what = f"option {key!r} of {name!r}"
    if kind is int:
        return read_count(what, value, least=0)
    if kind is float:
        return read_number(what, value)
    if value not in get_args(kind):
        raise ValueError(
            f"{what} must be one of {', '.join(map(repr, get_args(kind)))}, got {value!r}"
        )
    return value
