"""A problem as a task for entrants: plain data."""

import math
from typing import Any

import torch

from meseta.bench.records import rounded
from meseta.noise import Environment, Substitution
from meseta.noise.catalogue import LAWS
from meseta.noise.draws import Draws, draw
from meseta.noise.placed import Placed
from meseta.noise.substitution import Substituted
from meseta.noise.words import law_in_words
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.outcomes import VALUE
from meseta.problems import Problem
from meseta.space.parameter import Categorical, Int
from meseta.space.space import Space

NUM_DRAWS = 2**11


def posed(problem: Problem, seed: int, evaluations: int) -> dict[str, Any]:
    """The arguments of `Task`."""
    optimizer = Optimizer(problem.space, **problem.settings, seed=seed)
    space = optimizer.space
    sample = _sample(problem, optimizer, seed)
    parameters = {name: _parameter(name, parameter) for name, parameter in space.items()}
    return {
        "problem": problem.name,
        "board": problem.board,
        "seed": seed,
        "budget": evaluations,
        "num_initial": problem.num_initial,
        "direction": problem.direction,
        "objective": VALUE,
        "parameters": [parameters[name] for name in problem.names],
        "environment": [
            {**parameters[name], "typical": _typical(sample[name]["values"])}
            for name in problem.environment
        ],
        "noise": {
            " & ".join(key) if isinstance(key, tuple) else key: _law(law)
            for key, law in problem.noise_by_name.items()
        },
        "measure": _measure(problem.measure),
        "limits": {
            name: {
                "low": limit.low if math.isfinite(limit.low) else None,
                "high": limit.high if math.isfinite(limit.high) else None,
                "probability": limit.probability,
            }
            for name, limit in problem.constraints.items()
        },
        "noise_variance": problem.noise_variance,
        "sample": sample,
    }


def _parameter(name: str, parameter: Any) -> dict[str, Any]:
    if isinstance(parameter, Categorical):
        return {"name": name, "kind": "choice", "choices": list(parameter.choices)}
    told = {"name": name, "kind": "int" if isinstance(parameter, Int) else "float"}
    told |= {"low": parameter.low, "high": parameter.high, "log": parameter.log}
    return told | {"step": parameter.step}


def _law(law: Any) -> dict[str, Any]:
    """A law with its numbers, as far as it has such, and in words."""
    if isinstance(law, Environment):
        return {"environment": True, **_law(law.law)}
    if isinstance(law, Substitution):
        return {"law": "substitution", "probability": law.probability}
    declared = [each for each in LAWS if each.python == type(law).__name__]
    told: dict[str, Any] = {"law": declared[0].name if declared else type(law).__name__.lower()}
    for key in [key for each in declared for key in (*each.required, *each.optional)]:
        value = getattr(law, "bias" if key == "mean" else key, None)
        if isinstance(value, bool | int | float):
            told[key] = value
        elif isinstance(value, tuple) and len(value) == 1:
            told[key] = value[0]
    return {**told, "words": law_in_words(law)}


def _measure(measure: Any) -> dict[str, Any]:
    from meseta.measures.words import WORDS

    (name,) = (name for name, kind in WORDS.items() if isinstance(measure, kind))
    numbers = {key: getattr(measure, key) for key in measure.__dataclass_fields__}
    plain = {k: v for k, v in numbers.items() if isinstance(v, float) and math.isfinite(v)}
    return {"name": name, **plain}


def _sample(problem: Problem, optimizer: Optimizer, seed: int) -> dict[str, dict[str, Any]]:
    """Draws of the noise of each parameter that has some, and how they act."""
    space, law = optimizer.space, optimizer.law
    draws = draw(law, space.num_columns, NUM_DRAWS, torch.Generator().manual_seed(seed))
    sample = {}
    for name in space.names:
        own = _of_choice(space, name, draws) or _of_number(problem, space, name, draws)
        if own is not None:
            sample[name] = {**own, "values": rounded(own["values"].double().numpy())}
    return sample


def _of_choice(space: Space, name: str, draws: Draws) -> dict[str, Any] | None:
    columns = space.columns_of(name)
    for dims, part, drawn in draws.shared:
        if isinstance(part, Substituted) and dims[0] == columns.start:
            matrix = [list(row) for row in part.matrix]
            return {"how": "substitute", "matrix": matrix, "values": drawn}
    return None


def _of_number(problem: Problem, space: Space, name: str, draws: Draws) -> dict[str, Any] | None:
    column = space.columns_of(name).start
    if isinstance(dict(space.items())[name], Categorical):
        return None
    marginal, values = draws.marginals[column], draws.own[:, column]
    how = marginal.kind if isinstance(marginal, Placed) else "shift"
    for dims, part, drawn in draws.shared:
        if column in dims and not isinstance(part, Substituted):
            values = values + drawn[:, dims.index(column)]
    if how == "width" or (isinstance(marginal, Placed) and marginal.edge != "allow"):
        raise ValueError(f"the arena has no words for the noise of {name!r} of {problem.name!r}")
    return {"how": how, "values": values} if bool(values.any()) else None


def _typical(values: list[float]) -> float:
    """The draw nearest to the mean: a value that there is."""
    mean = sum(values) / len(values)
    return min(values, key=lambda value: abs(value - mean))
