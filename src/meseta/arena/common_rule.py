"""The common rule: what our model recommends by the data of any entrant."""

from collections.abc import Sequence
from typing import Any

from meseta.optimizer.ask_tell import Optimizer
from meseta.problems import Problem


def common_rule(
    problem: Problem, x: Sequence[dict[str, Any]], values: Sequence[dict[str, float]], seed: int
) -> dict[str, Any]:
    """The robust design by these experiments."""
    optimizer = Optimizer(problem.space, **problem.settings, seed=seed)
    for params, told in zip(x, values, strict=True):
        optimizer.tell(params, told if problem.outcomes else told["value"])
    best = optimizer.recommend().params
    return {name: best[name] for name in problem.names}
