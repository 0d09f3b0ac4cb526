"""A study checked as a whole: everything that would be refused later, with its line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from meseta.optimizer.precision import read_scatter
from meseta.study.headers import check_alias
from meseta.study.spreadsheet import COLUMNS
from meseta.study.tables import own_columns
from meseta.study.toml.file import StudyFile
from meseta.study.toml.lines import Place
from meseta.study.toml.sentences import Mistake, StudyError

if TYPE_CHECKING:
    from meseta.measures import Measure
    from meseta.space.environments import Environments
    from meseta.space.named_noise import Names
    from meseta.space.price import Price
    from meseta.space.space import Space

Attempt = Callable[[Place, Callable[[], object]], bool]


def check(study: StudyFile) -> None:
    """Build space, noise and method of a study; a StudyError has all that is wrong with them."""
    from meseta.optimizer.ask_tell import Optimizer
    from meseta.optimizer.history import columns
    from meseta.space.allowed import read_rule

    with _gathered(study) as attempt:
        if _attempt_parameters(study, attempt):
            space = study.space()
            for rule in study.chosen.allowed or ():
                attempt(("study", "allowed"), partial(read_rule, rule, list(space.ranges)))
            if attempt(("parameters",), lambda: columns(space)):
                environments = _attempt_noise(study, space, attempt)
                if environments is not None:
                    _attempt_initial(study, environments, attempt)
        _attempt_method(study, attempt)
        for name in study.constraints:
            attempt(("constraints", name), partial(study.constraint, name))
    with _gathered(study) as attempt:  # and all of it together
        attempt(("study",), lambda: Optimizer(study.space(), settings=study.settings()))


def check_parameters(study: StudyFile) -> None:
    """Check the parameters alone, for commands that need no model; torch is not loaded."""
    with _gathered(study) as attempt:
        _attempt_parameters(study, attempt)


@contextmanager
def _gathered(study: StudyFile) -> Iterator[Attempt]:
    """A function that tries a step, and returns whether it succeeded; refusals come together."""
    mistakes: list[Mistake] = []

    def attempt(place: Place, step: Callable[[], object]) -> bool:
        try:
            with study.at(place):
                step()
        except StudyError as error:
            mistakes.extend(error.mistakes)
            return False
        return True

    yield attempt
    if mistakes:
        raise StudyError(study.label, sorted(mistakes, key=lambda mistake: mistake.line or 0))


def _attempt_parameters(study: StudyFile, attempt: Attempt) -> bool:
    sound: list[bool] = []
    for step in (study.parameter, _check_name):
        sound = [attempt(("parameters", name), partial(step, name)) for name in study.parameters]
        if not all(sound):
            return False
    known = own_columns(study, study.ranges())
    for name, column in study.columns.items():
        sound = [*sound, attempt(("columns", name), partial(check_alias, name, column, known))]
    return all(sound)


def _check_name(name: str) -> None:
    if name in COLUMNS:
        raise ValueError(
            f"a parameter cannot be named {name!r}: CSV files have a column of that name; rename it"
        )


def _attempt_noise(study: StudyFile, space: "Space", attempt: Attempt) -> "Environments | None":
    """Check each law by itself, so that a refusal has its place; then all of them together.

    None: something was refused.
    """
    from meseta.space.environments import Environments
    from meseta.space.named_noise import read_environment, read_noise
    from meseta.study.toml.laws import build_joint, build_noise, build_own

    edge = study.edge()

    def alone(key: "str | Names", build: Callable[[], Any]) -> None:
        read_noise({key: build()}, space, edge)

    sound = True
    for name, parameter in study.parameters.items():
        if parameter.noise is not None:
            step = partial(alone, name, partial(build_own, study, name))
            sound &= attempt(("parameters", name, "noise"), step)
    for number, joint in enumerate(study.joint):
        step = partial(alone, joint.parameters, partial(build_joint, study, number))
        sound &= attempt(("noise", number), step)
    if not sound:
        return None
    noise = build_noise(study)
    for name, price in study.prices.items():
        attempt(("parameters", name, "cost"), partial(_check_price, noise, space, name, price))
    sound = attempt(("noise",), lambda: read_noise(noise, space, edge))
    sound &= attempt(("parameters",), lambda: read_environment(noise, space))
    return Environments(space, read_environment(noise, space)) if sound else None


def _check_price(noise: Any, space: "Space", name: str, price: "Price") -> None:
    from meseta.noise.width import width_of
    from meseta.space.named_noise import own_law

    price.check(width_of(own_law(noise, space, name)))


def _attempt_initial(study: StudyFile, environments: "Environments", attempt: Attempt) -> None:
    """Check each design by itself; then how many they are."""
    from meseta.space.initial import read_initial

    initial, num = study.chosen.initial, study.chosen.num_initial
    if initial is None or isinstance(initial, str):
        return
    sound = [
        attempt(("study", "initial", i), partial(read_initial, [design], None, environments))
        for i, design in enumerate(initial)
    ]
    if all(sound):
        attempt(("study", "num_initial"), lambda: read_initial(initial, num, environments))


def _attempt_method(study: StudyFile, attempt: Attempt) -> None:
    from meseta.acquisition.methods import DEFAULT_METHOD, check_measure, checked_options, get
    from meseta.measures import read_measure

    chosen, named = study.chosen, study.outcomes
    if chosen.scatter_in_use is not None:
        names = (named.objective, *named.names)
        scatter = chosen.scatter_in_use
        attempt(("study", "scatter_in_use"), lambda: read_scatter(scatter, names))
    method = DEFAULT_METHOD if chosen.method is None else chosen.method
    if attempt(("study", "method"), lambda: get(method)):
        attempt(("study", "options"), lambda: checked_options(method, chosen.options))
    if chosen.measure is not None:
        words = chosen.measure
        if attempt(("study", "measure"), lambda: check_measure(method, read_measure(words))):
            attempt(("study", "direction"), lambda: _check_direction(study, read_measure(words)))


def _check_direction(study: StudyFile, measure: "Measure") -> None:
    """Refuse a direction that contradicts that of a measure."""
    own, chosen = measure.direction, study.chosen
    if "direction" in chosen.model_fields_set and own not in (None, chosen.direction):
        raise ValueError(f"{chosen.measure!r} is {own}d whatever f is; leave direction out")
