"""Noise whose widths are learned from measured deviations."""

from collections.abc import Mapping, Sequence
from typing import Any

from meseta.noise import LearnedNormal, NoiseLaw, Normal
from meseta.optimizer.record import Trial
from meseta.space.space import Space


def stated_laws(noise: Any, space: Space) -> dict[str, LearnedNormal]:
    """The parameters whose width is learned, with the law that was stated; by name."""
    named = _by_name(noise, space)
    laws = {n: law for n, law in named.items() if isinstance(law, LearnedNormal)}
    for names in (key for key in named if isinstance(key, tuple)):
        for name in names:
            if name in laws:
                raise ValueError(
                    f"{name!r} has {laws[name]}, and is in the noise of {names} as well. What is "
                    "measured is the sum of both, so that its width cannot be learned; write "
                    f"Normal({laws[name].std}), or leave one of them out"
                )
    return laws


def learned_laws(
    stated: Mapping[str, LearnedNormal], trials: Sequence[Trial]
) -> dict[str, LearnedNormal]:
    """These laws, given what was measured."""
    return {name: law.given(_measured(name, trials)) for name, law in stated.items()}


def with_laws(noise: Any, space: Space, laws: Mapping[str, NoiseLaw]) -> Any:
    """The same noise, with these laws in their places."""
    return {**_by_name(noise, space), **laws} if laws else noise


def known_exactly(law: LearnedNormal) -> Normal:
    """The law whose width is the stated one."""
    return Normal(law.std, law.bias)


def _measured(name: str, trials: Sequence[Trial]) -> list[float]:
    """Executed minus planned values of a number."""
    pairs = [(t.params, t.planned or t.params) for t in trials if name in t.measured]
    return [float(done[name]) - float(planned[name]) for done, planned in pairs]


def _by_name(noise: Any, space: Space) -> Mapping[Any, Any]:
    if isinstance(noise, LearnedNormal):  # one law for all
        return dict.fromkeys(space.names, noise)
    return noise if isinstance(noise, Mapping) else {}
