"""Environment variables: quantities that vary at deployment and are no part of the design."""

from collections.abc import Mapping
from dataclasses import dataclass

from meseta.noise.scipy_law import LawLike


@dataclass(frozen=True)
class Environment:
    """An environment variable e ~ law at deployment: g(x) = E f(x, e), whatever e was tried.

    The law is that of the quantity itself, not of a deviation: Environment(Normal(5, mean=20)) for
    a temperature. Its range in the space says what can be set in an experiment, and the search
    chooses settings that tell most about g. With `observed` it cannot be set: asked designs leave
    it out, and what it was is told with the value. For a category the law is a dict of
    probabilities: Environment({"summer": 0.7, "winter": 0.3}).
    """

    law: LawLike | Mapping[object, float]
    observed: bool = False
