"""What plots of a robust study show, as numbers: f and g along parameters, and the way there."""

from dataclasses import dataclass
from typing import Any

import torch

from meseta.integrations.study_answer import StudyAnswer, modelled
from meseta.integrations.study_model import StudyModel
from meseta.parameters import Category, Parameter
from meseta.space import Design


@dataclass(frozen=True)
class Slice:
    """f and g along one parameter, the others as in the robust optimum."""

    name: str
    log: bool  # whether its scale is logarithmic
    choices: bool  # whether it has no order
    values: tuple[Any, ...]  # of the parameter, in the terms of the study
    f_mean: tuple[float, ...]
    f_std: tuple[float, ...]
    g_mean: tuple[float, ...]
    g_std: tuple[float, ...]
    robust: tuple[Any, float]  # the robust optimum, and the mean of g there
    nominal: tuple[Any, float]  # the nominal optimum, and the mean of f there


@dataclass(frozen=True)
class Progress:
    """What would have been recommended after so many evaluations, seen from then."""

    evaluations: tuple[int, ...]
    params: tuple[dict[str, Any], ...]
    mean: tuple[float, ...]  # of g
    std: tuple[float, ...]


def slices(answer: StudyAnswer, resolution: int = 101) -> tuple[Slice, ...]:
    """One for each parameter of the design."""
    names = answer.optimizer.surroundings.design
    return tuple(_slice(answer, name, resolution) for name in names)


def progress(study: Any, model: StudyModel, most: int = 15, seed: int = 0) -> Progress:
    """At `most` so many numbers of evaluations, evenly spread; the last one is that of now.

    Each costs a fit. The values are taken in the order of the trials.
    """
    space, optimizer, *_ = modelled(study, model, seed)
    complete = [trial for trial in optimizer.trials if trial.state == "complete"]
    marks = torch.linspace(1, len(complete), min(most, len(complete))).round().int().tolist()
    rows = []
    for num in marks:
        ends = complete[num - 1].number + 1
        best = optimizer.resumed(optimizer.trials[:ends]).recommend()
        rows.append((space.to_optuna(best.params), best.mean, best.std))
    params, mean, std = zip(*rows, strict=True)
    return Progress(tuple(marks), params, mean, std)


def _slice(answer: StudyAnswer, name: str, resolution: int) -> Slice:
    optimizer, space = answer.optimizer, answer.space
    parameter = optimizer.space.parameters[optimizer.space.names.index(name)]
    inside = space.to_meseta(answer.params)
    values = _values(parameter, inside[name], resolution)
    held = optimizer.surroundings.typical()
    rows = [_row(answer, {**inside, name: value}) for value in values]
    x = torch.tensor(rows, dtype=torch.double)
    moments = optimizer.posterior.joint(x if held is None else held.put(x))
    sign = 1.0 if optimizer.direction == "maximize" else -1.0
    outer = space.outside[name]
    outside = [space.to_optuna({name: value})[outer] for value in values]
    return Slice(
        name=outer,
        log=not isinstance(parameter, Category) and parameter.log,
        choices=isinstance(parameter, Category),
        values=tuple(outside),
        f_mean=tuple((sign * moments.m_f).tolist()),
        f_std=tuple(moments.v_f.sqrt().tolist()),
        g_mean=tuple((sign * moments.m_g).tolist()),
        g_std=tuple(moments.v_g.sqrt().tolist()),
        robust=(answer.params[outer], answer.mean),
        nominal=(answer.nominal.params[outer], answer.nominal.nominal_mean),
    )


def _row(answer: StudyAnswer, design: Design) -> list[float]:
    """Its columns; environment variables, which are held, at any place."""
    space = answer.optimizer.space
    return [
        x
        for name, parameter in space.items()
        for x in (
            parameter.to_columns(design[name])
            if name in design
            else [low for low, _ in parameter.ends]
        )
    ]


def _values(parameter: Parameter, best: Any, resolution: int) -> list[Any]:
    """Spread over the range, each once, the best among them."""
    if isinstance(parameter, Category):
        return list(parameter.choices)
    ((low, high),) = parameter.ends
    spread = torch.linspace(low, high, resolution, dtype=torch.double).tolist()
    nearest: Any = parameter.nearest
    values = {nearest(parameter.from_columns([x])) for x in spread}
    return sorted(values | {best})
