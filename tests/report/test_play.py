"""What the page computes by itself, in Python: against the model it was made from."""

import math
import random
from dataclasses import replace

import pytest
import torch

import play_cases
from examples import some
from meseta.gp.robust import raw_moments
from meseta.measures.weighted import std
from meseta.noise.widened import widened
from meseta.report.views.played import played, row_of
from play_cases import made, settings_of

# errors of means, as shares of the spread of the values in use
CLOSE = {**dict.fromkeys(play_cases.EXACT, 1e-6), **dict.fromkeys(play_cases.SMOOTH, 1e-4)}
COARSE = 5e-3


def exactly(subject, ground, row, factors):
    """The moments under the widened law, by the closed forms and rules of the package."""
    law = subject.law
    for knob, factor in zip(ground.knobs, factors, strict=True):
        if knob.design and knob.noisy and factor != 1:
            law = widened(law, knob.column, factor)
    mixture = subject.optimizer.fitted.mixture_under(law)
    moments = raw_moments(mixture.moments(row[None]), subject.units)
    return subject.sign * float(moments.m_g), float(moments.v_g.sqrt()), float(moments.v_f.sqrt())


@pytest.mark.parametrize("name", some(play_cases.ALL, 4))
def test_figures_are_those_of_the_model(name):
    subject, ground = made(name)
    rng = random.Random(name)
    y = torch.tensor([t.value for t in subject.optimizer.trials if t.value is not None])
    spread = float(y.std())
    close = CLOSE.get(name, COARSE)
    for _ in range(5):
        values, factors = settings_of(ground, rng)
        row = row_of(ground, values)
        found = played(ground, row, factors)
        mean, std, std_f = exactly(subject, ground, row, factors)
        low, high = subject.optimizer.settings.possible
        if low < mean < high:
            assert found.robust.mean == pytest.approx(mean, abs=close * spread)
            assert found.robust.std == pytest.approx(std, abs=3 * close * spread)
        assert found.nominal.std >= std_f - max(close, 1e-6) * spread
        assert sum(found.weights) == pytest.approx(1)
        assert len(found.values) == len(found.weights) == 1024


@pytest.mark.parametrize("name", some(play_cases.ALL, 4))
def test_the_start_is_the_robust_optimum_of_the_first_tab(name):
    subject, ground = made(name)
    row = row_of(ground, [knob.robust for knob in ground.knobs])
    assert torch.allclose(row, subject.x_robust[0], atol=1e-12)
    found = played(ground, row, [1.0] * len(ground.knobs))
    best = subject.robust
    known = subject.estimate_g(subject.optimizer.fitted.mixture.at_modes, subject.x_robust)
    spread = best.std + abs(best.mean - best.nominal_mean)
    close = CLOSE.get(name, COARSE)
    assert found.robust.mean == pytest.approx(best.mean, abs=10 * close * spread)
    assert found.nominal.mean == pytest.approx(best.nominal_mean, abs=10 * close * spread)
    assert found.robust.std == pytest.approx(known.std, abs=20 * close * spread + 0.02 * known.std)
    assert found.robust.std <= 1.02 * best.std  # which leaves the hyper-parameters open


def test_with_too_many_values_there_are_no_intervals():
    _, ground = made("auto")
    many = replace(ground, parts=tuple(replace(part, noise=()) for part in ground.parts))
    row = row_of(ground, [0.3, 0.7])
    few, found = (played(each, row, [1.0, 0.5]) for each in (ground, many))
    assert found.robust.mean == few.robust.mean
    assert math.isnan(found.robust.std)
    assert found.values == few.values


def test_what_cannot_be_moved_says_why():
    _, ground = made("environment")
    heat = next(knob for knob in ground.knobs if knob.name == "heat")
    assert "varies by itself" in heat.fixed
    assert not heat.design


def test_values_scatter_as_single_ones_do():
    subject, ground = made("scattered")
    row = row_of(ground, [knob.robust for knob in ground.knobs])
    found = played(ground, row, [1.0] * len(ground.knobs))
    values, weights = torch.tensor(found.values), torch.tensor(found.weights)
    seen = subject.in_use(subject.x_robust)
    assert float(std(values, weights)) == pytest.approx(
        float(std(seen.best, seen.weights)), rel=0.03
    )
    assert float(std(seen.best, seen.weights)) > 0.2
