"""What an entrant is told: plain data, and draws of what a design becomes in use.

This file is loaded by the interpreter of the entrant, which may have NumPy and nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Task:
    """A problem as an entrant sees it.

    The first `num_initial` of the `budget` evaluations are told before the first `ask`. Kinds of
    parameters are "float" and "int", with "low" and "high", "step" and "log" where there are such,
    and "choice", with "choices". The `environment` are quantities that experiments set and nobody
    controls in use: `ask` has to name them, `recommend` must not.
    """

    problem: str
    board: str
    seed: int
    budget: int
    num_initial: int
    direction: str  # "maximize" or "minimize"
    objective: str  # the name of the value that is optimised among those told
    parameters: list[dict[str, Any]]
    environment: list[dict[str, Any]]  # with what is "typical" of each
    noise: dict[str, dict[str, Any]]  # by parameter, {"law": "normal", "std": 0.1}
    measure: dict[str, Any]  # {"name": "mean"}, {"name": "cvar", "share": 0.1}
    limits: dict[str, dict[str, Any]]  # by outcome: "low", "high" (None: no limit), "probability"
    noise_variance: float  # of the values told
    sample: dict[str, dict[str, Any]]  # draws of the noise: see `draw`

    @property
    def sign(self) -> float:
        """1 where large values are wanted, -1 where small ones are."""
        return 1.0 if self.direction == "maximize" else -1.0

    def typical(self) -> dict[str, float]:
        """The environment as it is on average."""
        return {each["name"]: each["typical"] for each in self.environment}

    def draw(self, n: int, rng: Any) -> dict[str, Any]:
        """`n` draws of all noise by name, spread evenly: quasi-random points.

        `rng` is a generator of NumPy. `in_use` applies them.
        """
        if not self.sample:
            return {}
        size = len(next(iter(self.sample.values()))["values"])
        block = 2 ** max(0, int(n - 1).bit_length())
        if not 1 <= n <= size:
            raise ValueError(f"there are {size} draws, got n = {n}")
        first = block * int(rng.integers(size // block))
        rows = slice(first, first + n)
        return {name: np.array(each["values"][rows]) for name, each in self.sample.items()}

    def moved(self, name: str, value: Any, drawn: dict[str, Any]) -> Any:
        """The numbers that a parameter has in use, one for each draw.

        `value` is a number, or an array with a last axis of length 1; of a choice its index.
        """
        if name not in drawn:
            return value + np.zeros(len(next(iter(drawn.values())))) if drawn else value
        how, xi = self.sample[name]["how"], drawn[name]
        if how == "replace":
            return xi
        if how == "relative":
            return value * (1 + xi)
        if how == "multiply":
            return value * np.exp(xi)
        if how == "substitute":
            shares = np.cumsum(self.sample[name]["matrix"][int(value)])
            return np.minimum(np.searchsorted(shares, xi), len(shares) - 1)
        return value + xi

    def in_use(self, params: dict[str, Any], drawn: dict[str, Any]) -> list[dict[str, Any]]:
        """What a design becomes in use, one point for each draw, the environment included."""
        columns = {}
        for each in self.parameters:
            name = each["name"]
            if each["kind"] == "choice":
                choices = each["choices"]
                index = self.moved(name, choices.index(params[name]), drawn)
                columns[name] = [choices[int(i)] for i in index]
            else:
                columns[name] = np.asarray(self.moved(name, params[name], drawn)).tolist()
        columns.update({each["name"]: drawn[each["name"]].tolist() for each in self.environment})
        return [dict(zip(columns, row)) for row in zip(*columns.values())]  # noqa: B905
