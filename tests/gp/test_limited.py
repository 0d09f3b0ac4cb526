"""Margins of outcomes: to first order, and by paths, against brute force."""

import pytest
import torch

import meseta
from meseta.gp.limited import LimitedOutcome, assessment, limited
from meseta.gp.paths import sample_paths


def posterior_of(f, n=25, noise=0.05, d=2, seed=0, **settings):
    """The posterior of a function of the unit cube, observed at Sobol points."""
    space = {f"x{i}": (0.0, 1.0) for i in range(d)}
    optimizer = meseta.Optimizer(space, noise=meseta.Normal(noise), kernel="se", **settings)
    points = torch.quasirandom.SobolEngine(d, scramble=True, seed=seed).draw(n).double()
    for row in points:
        value = float(f(row[None])[0])
        optimizer.tell(dict(zip(space, row.tolist(), strict=True)), value)
    return optimizer


def wave(z):
    return torch.sin(3 * z[..., 0]) + z[..., 1] ** 2


@pytest.mark.parametrize("constraint", [meseta.AtMost(0.9, 0.9), meseta.Between(0.2, 1.4, 0.9)])
def test_first_order_margins_against_many_paths(constraint):
    """Mean and spread of the margin over the posterior, where data leave a little open."""
    optimizer = posterior_of(wave, n=9)
    units, posterior = optimizer.posterior.units, optimizer.fitted.core
    margin = constraint.margin(float(units.y_offset), float(units.y_scale))
    limit = limited(posterior, margin, 1024, torch.Generator().manual_seed(0))
    x = torch.tensor([[0.3, 0.4], [0.7, 0.2], [0.05, 0.9]], dtype=torch.double)
    mean, variance = limit.moments(x)
    paths = sample_paths(posterior, 400, 500, torch.Generator().manual_seed(1))
    for i in range(len(x)):
        places = limit.draws(x[i : i + 1])
        values = paths.f(places.z[0])
        rho = margin.exactly(values, places.weights)
        assert mean[i].item() == pytest.approx(rho.mean().item(), abs=0.5 * rho.std().item())
        assert variance[i].sqrt().item() == pytest.approx(rho.std().item(), rel=0.6, abs=0.005)


def test_slopes_of_mean_and_variance():
    optimizer = posterior_of(wave, n=12)
    units = optimizer.posterior.units
    margin = meseta.AtMost(0.9, 0.9).margin(float(units.y_offset), float(units.y_scale))
    limit = limited(optimizer.fitted.core, margin, 256, torch.Generator().manual_seed(0))
    x = torch.tensor([[0.31, 0.42]], dtype=torch.double, requires_grad=True)
    mean, _ = limit.moments(x)
    (slope,) = torch.autograd.grad(mean.sum(), x)
    step = 1e-4
    for column in range(2):
        off = torch.zeros(1, 2, dtype=torch.double)
        off[0, column] = step
        up, down = (limit.moments(x.detach() + sign * off)[0] for sign in (1, -1))
        assert slope[0, column].item() == pytest.approx(((up - down) / (2 * step)).item(), rel=0.05)


@pytest.mark.parametrize("probability", [0.9, 0.99, 0.99865])
def test_assessed_shares_against_monte_carlo(probability):
    """Many data: the share that keeps the limit is that of the function itself."""
    optimizer = posterior_of(wave, n=60)
    units = optimizer.posterior.units
    generator = torch.Generator().manual_seed(3)
    x = torch.tensor([0.4, 0.5], dtype=torch.double)
    z = x + 0.05 * torch.randn(4_000_000, 2, generator=generator, dtype=torch.double)
    values = wave(z)
    limit = float(values.sort().values[int(probability * len(values))])
    constraint = meseta.AtMost(limit, probability)
    margin = constraint.margin(float(units.y_offset), float(units.y_scale))
    outcome = LimitedOutcome(optimizer.fitted.mixture, margin)
    found = assessment(outcome, torch.Generator().manual_seed(0)).at(x)
    assert 1 - found.share == pytest.approx(1 - probability, rel=0.05)
    assert found.interval[0] - 1e-9 <= found.share <= found.interval[1] + 1e-9
    assert found.margin.mean == pytest.approx(0.0, abs=3 * found.margin.std + 1e-3)


@pytest.mark.parametrize("probability", [0.9, 0.99])
def test_intervals_of_shares_hold_the_truth(probability):
    """Functions drawn from the model itself: 95 % intervals hold about that often."""
    torch.manual_seed(0)
    optimizer = posterior_of(wave, n=12)
    paths = sample_paths(optimizer.fitted.core, 60, 500, torch.Generator().manual_seed(8))
    units = optimizer.posterior.units
    constraint = meseta.AtMost(0.9, probability)
    margin = constraint.margin(float(units.y_offset), float(units.y_scale))
    outcome = LimitedOutcome(optimizer.fitted.mixture, margin)
    assess = assessment(outcome, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(4)
    held, total = 0, 0
    for x in torch.tensor([[0.15, 0.7], [0.8, 0.3], [0.3, 0.2]], dtype=torch.double):
        found = assess.at(x)
        z = x + 0.05 * torch.randn(20_000, 2, generator=generator, dtype=torch.double)
        truth = (margin.worst(paths.f(z)) >= 0).double().mean(-1)
        low, high = found.interval
        held += int(((truth >= low - 1e-3) & (truth <= high + 1e-3)).sum())
        total += len(truth)
        sure = (truth >= probability).double().mean().item()
        assert found.sure == pytest.approx(sure, abs=0.15)
    assert held >= 0.88 * total
