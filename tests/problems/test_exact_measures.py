"""Every problem: g and the shares against Monte Carlo of f, the optimum against other designs."""

import math
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import differential_evolution, minimize
from scipy.special import ndtri
from scipy.stats import qmc

import meseta
import problem_page
from examples import some
from meseta.measures import CVaR, Mean, OnTarget, Quantile, Yield
from meseta.noise import Environment
from meseta.problems import (
    airbo,
    borehole,
    disc_brake,
    get,
    names,
    of_paper,
    otl_circuit,
    piston,
    quadrature,
    speed_reducer,
    youn_choi,
)

DRAWS = 20_000
BOARDS = ("mean", "risk", "constraints")
NEW = [name for name in names() if name not in of_paper()]
every = pytest.mark.parametrize("name", names())
new = pytest.mark.parametrize("name", NEW)


def designs(p, num, seed=0):
    """Sobol points of the box that the space allows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # not a power of two
        x = qmc.scale(qmc.Sobol(p.dimension, seed=seed).random(num), *p.bounds)
    for j, name in enumerate(p.names):
        if name in p.kinds:
            x[:, j] = [p.kinds[name].nearest(p.kinds[name].from_columns([t])) for t in x[:, j]]
    return x


def free(p):
    """The columns that any number of the range may have."""
    return [j for j, name in enumerate(p.names) if name not in p.kinds]


def errors_allowed(p, values, g):
    """Whether g is the measure of the values, within 5 standard errors."""
    n = len(values)
    measure, good = p.measure, p.sign * values
    if isinstance(measure, Quantile):
        edge = 5 * math.sqrt(measure.share * (1 - measure.share) / n)
        assert (good < p.sign * g - 1e-9).mean() <= measure.share + edge
        assert (good <= p.sign * g + 1e-9).mean() >= measure.share - edge
        return
    if isinstance(measure, CVaR):
        v = np.quantile(good, measure.share)
        sample = p.sign * (v - np.maximum(v - good, 0) / measure.share)
    elif isinstance(measure, OnTarget):
        sample = (values - measure.target) ** 2
    elif isinstance(measure, Yield):
        sample = ((values >= measure.low) & (values <= measure.high)).astype(float)
    else:
        assert measure == Mean()
        sample = values
    error = max(sample.std(), 1 / math.sqrt(n) if isinstance(measure, Yield) else 0.0)
    assert abs(sample.mean() - g) <= 5 * error / math.sqrt(n) + 1e-12 * abs(g)


@every
def test_g_and_shares_are_those_of_many_draws(name):
    p = get(name)
    x = np.vstack([designs(p, 3, seed=11), p.x_star])
    points = p.in_use(x, DRAWS if name != "gravity" else 2000, seed=5)
    g, shares = p.g(x), p.shares(x)
    for i in range(len(x)):
        errors_allowed(p, p.f(points[:, i]), g[i])
        for c, (outcome, limits) in enumerate(p.constraints.items()):
            value = p.outcomes[outcome](points[:, i])
            kept = ((value >= limits.low) & (value <= limits.high)).mean()
            share = shares[i, c]
            assert abs(kept - share) <= 5 * math.sqrt(share * (1 - share) / DRAWS) + 5 / DRAWS


@every
def test_no_design_of_many_is_better_than_the_optimum(name):
    p = get(name)
    x = designs(p, 2000)
    gap = p.sign * (p.g_star - p.g(x))
    assert (gap[p.kept(x)] > -1e-9 * p.worst_regret).all()
    # and none is worse than the worst
    assert (gap <= p.worst_regret * (1 + 1e-6)).all()


@new
def test_no_design_nearby_is_better_than_the_optimum(name):
    p = get(name)
    assert_allclose(p.g(p.x_star[None])[0], p.g_star, rtol=1e-10, atol=1e-10 * p.worst_regret)
    assert p.kept(p.x_star[None]).all()
    assert p.regret(p.x_star[None])[0] <= 1e-9 * p.worst_regret
    columns = free(p)
    low, width = p.bounds[0], p.bounds[1] - p.bounds[0]

    def design(u):
        x = p.x_star.copy()
        x[columns] = low[columns] + width[columns] * np.clip(u, 0, 1)
        return x[None]

    start = ((p.x_star - low) / width)[columns]
    limits = {
        "type": "ineq",
        "fun": lambda u: np.clip(ndtri(p.shares(design(u))[0]), -30, 8) - ndtri(p.asked),
    }
    run = minimize(
        lambda u: -p.sign * p.g(design(u))[0] / p.worst_regret,
        start,
        bounds=[(0, 1)] * len(columns),
        method="SLSQP" if p.constraints else "L-BFGS-B",
        constraints=[limits] if p.constraints else (),
        options={"ftol": 1e-14, "maxiter": 50},
    )
    found = design(run.x)
    if p.kept(found)[0]:
        assert p.sign * (p.g(found)[0] - p.g_star) <= 1e-9 * p.worst_regret


@pytest.mark.parametrize("name", some(names(), 2))
def test_a_search_of_the_whole_box_finds_nothing_better(name):
    """By differential evolution, which knows nothing of the optimum; whole numbers included."""
    p = get(name)

    def lack(columns):
        x = columns.T.reshape(-1, p.dimension).copy()
        for j, each in enumerate(p.names):
            if each in p.kinds:
                kind = p.kinds[each]
                x[:, j] = [kind.nearest(kind.from_columns([t])) for t in x[:, j]]
        gap = p.sign * (p.g_star - p.g(x)) / p.worst_regret
        missing = np.maximum(p.asked - p.shares(x), 0).sum(-1) if p.constraints else 0.0
        return gap + 10 * missing, x

    run = differential_evolution(
        lambda columns: lack(columns)[0],
        p.bounds.T,
        vectorized=True,
        updating="deferred",
        polish=False,
        popsize=40 if p.kinds else 12,
        strategy="rand1bin" if p.kinds else "best1bin",  # many valleys, or few
        maxiter=20 if name == "gravity" else 300,  # whose g is a picture of many flights
        tol=1e-9,
        rng=np.random.default_rng(3),
    )
    value, x = lack(run.x[:, None])
    assert value[0] > -1e-8 or not p.kept(x)[0]
    assert value[0] < 1e-2, "the search is too short to say anything"


@new
def test_steps_and_whole_numbers_beside_the_optimum_are_not_better(name):
    p = get(name)
    for j, each in enumerate(p.names):
        for step in (-1, 1) if each in p.kinds else ():
            x = p.x_star.copy()
            x[j] += step * getattr(p.kinds[each], "step", 1)
            if p.bounds[0, j] <= x[j] <= p.bounds[1, j] and p.kept(x[None])[0]:
                assert p.sign * (p.g_star - p.g(x[None])[0]) > 0


@every
def test_the_optimizer_takes_every_problem(name):
    p = get(name)
    optimizer = meseta.Optimizer(p.space, method="sobol", **p.settings)
    assert optimizer.space.names == (*p.names, *p.environment)
    params = optimizer.ask()
    told = {key: float(value[0]) for key, value in p.observe([p.row(params)]).items()}
    optimizer.tell(params, told if p.outcomes else told["value"])
    assert optimizer.trials[0].state == "complete"
    assert p.row(p.params(p.x_star)) == p.x_star.tolist()


@every
def test_every_record_says_what_it_is(name):
    p = get(name)
    assert p.name == name
    assert name in names(board=p.board)
    assert p.source
    assert p.certificate
    assert math.isfinite(p.worst_regret)
    assert p.worst_regret > 0
    assert p.num_initial < p.budget
    assert (p.board == "constraints") == bool(p.constraints)
    assert (p.board == "risk") == (p.measure != Mean())
    assert set(p.constraints) <= set(p.outcomes)
    laws = p.noise_by_name
    assert {key for key, law in laws.items() if isinstance(law, Environment)} == {*p.environment}


@new
def test_new_problems_travel_between_processes_and_are_finite_in_use(name):
    p = get(name)
    q = pickle.loads(pickle.dumps(p))
    x = np.vstack([p.bounds, p.x_star])
    assert_allclose(q.g(x), p.g(x), rtol=0, atol=0)
    shares = q.shares(x)
    assert ((shares >= -1e-12) & (shares <= 1 + 1e-12)).all()
    assert p.g(x[:0]).shape == (0,)
    points = p.in_use(x, 200, seed=1).reshape(-1, p.dimension + len(p.environment))
    assert all(np.isfinite(values).all() for values in p.observe(points).values())


def test_boards_hold_every_name_once():
    assert [name for board in BOARDS for name in names(board=board)] == names()
    with pytest.raises(ValueError, match="did you mean 'risk'"):
        names(board="risks")


def test_designs_beyond_the_constraints_have_the_largest_regret():
    p = get("youn-choi")
    lighter = [[2.0, 2.0]]
    assert p.g(lighter)[0] < p.g_star
    assert not p.kept(lighter)[0]
    assert p.regret(lighter)[0] == p.worst_regret == abs(20 - p.g_star)


@pytest.mark.parametrize(
    ("name", "function", "finer", "tolerance"),
    [
        ("needles", airbo.needles_g, (128,), 1e-10),
        ("otl-circuit", otl_circuit.g, (8, 24), 2e-10),
        ("piston", piston.g, ((8, 8, 8, 8, 6, 6),), 1e-12),
        ("borehole", borehole.g, (130, 24), 1e-12),
        ("disc-brake", disc_brake.shares, (16,), 1e-12),
        ("speed-reducer", speed_reducer.shares, (24,), 1e-12),
    ],
)
def test_twice_as_many_nodes_change_nothing(name, function, finer, tolerance):
    p = get(name)
    x = np.vstack([designs(p, 4, seed=3), p.bounds, p.x_star])
    assert_allclose(function(x), function(x, *finer), rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "name", ["constrained-polynomial", "youn-choi", "curved-valley", "pressure-vessel"]
)
def test_twice_as_many_nodes_change_no_share(name, monkeypatch):
    p = get(name)
    x = np.vstack([designs(p, 64, seed=3), p.bounds, p.x_star])
    shares = p.shares(x)
    monkeypatch.setattr(quadrature, "STEP", quadrature.STEP / 2)
    monkeypatch.setattr(quadrature, "NUM", quadrature.NUM * 2)
    assert_allclose(shares, p.shares(x), rtol=0, atol=1e-12)


# Published optima


def test_published_optimum_of_branin_williams():
    """(0.20263, 0.25445) in the source."""
    assert_allclose(get("branin-williams").x_star, [0.20263, 0.25445], rtol=0, atol=5e-6)


def test_published_optimum_of_youn_and_choi():
    """6.7257 at (3.4391, 3.2866), by first-order reliability, which errs in the shares."""
    p = get("youn-choi")
    assert_allclose(p.x_star, [3.4391, 3.2866], rtol=0, atol=0.02)
    assert abs(p.g_star - 6.7257) < 0.005
    assert_allclose(p.shares([[3.4391, 3.2866]])[0, :2], p.asked[:2], rtol=0, atol=5e-4)


def test_published_optima_of_the_curved_valley():
    """Without noise two constraints meet at (5.1969, 0.7405); with it -1.7247 by approximations."""
    p = get("curved-valley")
    x = np.array([[5.1969, 0.7405]])
    assert_allclose([youn_choi.g1(x)[0], youn_choi.curve(x)[0]], 0, atol=1e-4)
    assert abs(youn_choi.valley(p.x_star[None])[0] + 1.7247) < 0.01


def test_published_weight_of_the_speed_reducer():
    """2996.348 at face 3.5, module 0.7, 17 teeth, shafts 3.3502 and 5.2867, 7.3 and 7.8 long."""
    x = np.array([[3.5, 0.7, 17, 3.350215, 5.286683]])
    assert abs(get("speed-reducer").f(x)[0] - 2996.348) < 0.001
    assert_allclose(speed_reducer.stress1(x), 1, atol=1e-4)


def test_published_cost_of_the_pressure_vessel():
    """6059.714 at 0.8125, 0.4375, 42.09845, 176.6366; the volume and the shell bind."""
    p = get("pressure-vessel")
    x = np.array([[0.8125, 0.4375, 42.0984456, 176.6365958]])
    assert abs(p.f(x)[0] - 6059.714) < 0.01
    assert_allclose(p.outcomes["volume"](x), 1, atol=1e-6)
    assert_allclose(p.outcomes["shell_spare"](x), 0, atol=1e-6)


def test_the_page_has_every_problem():
    """`python tests/support/problem_page.py` writes it."""
    assert problem_page.PAGE.read_text(encoding="utf-8") == problem_page.page()
