"""A study looked at as a whole: everything that would be refused later, with its line."""

from collections.abc import Callable
from functools import partial
from typing import Any

from meseta.acquisition.methods import DEFAULT_METHOD, checked_options, get
from meseta.optimizer.history import columns
from meseta.space.environments import Environments
from meseta.space.initial import read_initial
from meseta.space.named_noise import Names, read_environment, read_noise
from meseta.space.space import Space
from meseta.study.entries import COLUMNS
from meseta.study.toml.file import StudyFile
from meseta.study.toml.laws import build_joint, build_noise, build_own, build_parameter, build_space
from meseta.study.toml.lines import Place
from meseta.study.toml.mistakes import Mistake, StudyError


def check(study: StudyFile) -> None:
    """Build space, noise and method of a study; a StudyError has all that is wrong with them."""
    mistakes: list[Mistake] = []

    def attempt(place: Place, step: Callable[[], object]) -> bool:
        try:
            with study.at(place):
                step()
        except StudyError as error:
            mistakes.extend(error.mistakes)
            return False
        return True

    sound = [
        attempt(("parameters", name), partial(build_parameter, study, name))
        for name in study.parameters
    ]
    if all(sound):
        space = build_space(study)
        names_fit = [
            attempt(("parameters", name), partial(_check_name, name)) for name in study.parameters
        ]
        if all(names_fit) and attempt(("parameters",), lambda: columns(space)):
            environments = _attempt_noise(study, space, attempt)
            if environments is not None:
                _attempt_initial(study, environments, attempt)
    _attempt_method(study, attempt)
    if mistakes:
        raise StudyError(study.label, sorted(mistakes, key=lambda mistake: mistake.line or 0))


def _check_name(name: str) -> None:
    if name in COLUMNS:
        raise ValueError(
            f"a parameter cannot be named {name!r}: CSV files have a column of that name; rename it"
        )


Attempt = Callable[[Place, Callable[[], object]], bool]


def _attempt_noise(study: StudyFile, space: Space, attempt: Attempt) -> Environments | None:
    """Each law by itself, so that a refusal has its place; then all of them together.

    None: something was refused.
    """
    edge = study.edge()

    def alone(key: str | Names, build: Callable[[], Any]) -> None:
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
    sound = attempt(("noise",), lambda: read_noise(noise, space, edge))
    sound &= attempt(("parameters",), lambda: read_environment(noise, space))
    return Environments(space, read_environment(noise, space)) if sound else None


def _attempt_initial(study: StudyFile, environments: Environments, attempt: Attempt) -> None:
    """Each design by itself; then how many they are."""
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
    chosen = study.chosen
    method = DEFAULT_METHOD if chosen.method is None else chosen.method
    if attempt(("study", "method"), lambda: get(method)):
        attempt(("study", "options"), lambda: checked_options(method, chosen.options))
