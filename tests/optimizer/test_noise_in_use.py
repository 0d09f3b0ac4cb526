"""Every kind of noise through the whole of it: by name, in kernels and paths, in every method."""

import math
import pickle

import numpy as np
import pytest
import torch
from scipy import stats

import meseta
from declared_laws import untested
from examples import some, thorough
from gp_models import random_model, tensor, uniform, unit_box
from meseta import (
    Categorical,
    Discrete,
    Empirical,
    Environment,
    Float,
    Int,
    Laplace,
    LogNormal,
    Mixture,
    Normal,
    Optimizer,
    Shared,
    StudentT,
    Substitution,
    Triangular,
    TruncatedNormal,
    Uniform,
    methods,
)
from meseta.gp.paths import sample_paths
from meseta.integrations.botorch import RobustPosterior, fit_surrogate, recommend, suggest
from meseta.kernels import StationaryKernel, smooth
from meseta.noise import Independent, Joint, Placed
from meseta.noise.panels import composite, panels
from meseta.space.named_noise import read_noise
from meseta.space.space import Space

BOX = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
JOINT = 0.1 * np.random.default_rng(1).normal(size=(60, 2)) @ np.array([[1.0, 0.5], [0.0, 0.5]])
LAWS = {
    "biased": ({"x": Normal(0.1, mean=0.05), "y": Uniform(0.1, mean=-0.05)}, "allow"),
    "triangular": ({"x": Triangular(0.2), "y": Laplace(0.05)}, "allow"),
    "student": ({"x": StudentT(4, 0.05), "y": TruncatedNormal(0.1, -0.1, 0.2)}, "allow"),
    "mixture": ({"x": Mixture([Normal(0.05), Discrete([0.2])], [0.8, 0.2])}, "allow"),
    "measured": ({"x": Empirical(JOINT[:, 0].tolist()), "y": Discrete([-0.1, 0.1])}, "allow"),
    "scipy": ({"x": stats.gamma(2, scale=0.05), "y": stats.beta(2, 3, loc=-0.1)}, "allow"),
    "relative": ({"x": Normal(0.1, relative=True), "y": Uniform(0.2, relative=True)}, "allow"),
    "factor": ({"x": Normal(lambda x: 0.02 + 0.1 * x)}, "allow"),
    "clip": ({"x": Normal(0.1), "y": Uniform(0.2)}, "clip"),
    "reflect": ({"x": Normal(0.1), "y": Laplace(0.1)}, "reflect"),
    "truncate": ({"x": Normal(0.1), "y": Discrete([-0.2, 0.1])}, "truncate"),
    "one edge": ({"x": Normal(0.1), "y": Normal(0.1)}, {"x": "clip"}),
    "correlated": ({("x", "y"): Normal(covariance=[[0.01, 0.008], [0.008, 0.01]])}, "allow"),
    "common": ({("x", "y"): Shared(Uniform(0.15)), "x": Normal(0.05)}, "allow"),
    "joint samples": ({("y", "x"): Empirical(JOINT.tolist())}, "allow"),
    "environment": (
        {"x": Normal(0.1), "y": Environment(Triangular(low=0.2, high=0.9, mode=0.5))},
        "allow",
    ),
}

IN_USE = [law for by_name, _ in LAWS.values() for law in by_name.values()]
LAWS |= {
    name: ({"x": law}, "allow")
    for name, law in untested([*IN_USE, LogNormal(0.1)]).items()  # which needs a range above 0
}


def posterior_of(name, n=9, shape="se"):
    law = read_noise(LAWS[name][0], BOX, LAWS[name][1])
    model = random_model(3, 2, n, shape=shape)
    return model, law, RobustPosterior.from_model(model, law, BOX.bounds)


@pytest.mark.parametrize("method", methods.names())
@pytest.mark.parametrize("name", some(LAWS, 4))
def test_every_method_goes_with_every_law(name, method):
    model, law, posterior = posterior_of(name)
    X = model.train_inputs[0]
    options = {"num_accepted": 100} if method == "nes-rs" else None
    x, _ = suggest(
        X, uniform(9, seed=1), BOX.bounds, law, method=method, options=options, fitted=(model, None)
    )
    if method == "nes-ep":  # which has all that could depend on what was done before
        again, _ = suggest(
            X, uniform(9, seed=1), BOX.bounds, law, method=method, fitted=(model, None)
        )
        assert torch.equal(x, again)
    assert ((x >= 0) & (x <= 1)).all()
    best = recommend(posterior, BOX.bounds, method=method)
    assert math.isfinite(best.mean)
    assert best.std >= 0


def smoothed_paths(paths, law, x, rules):
    """E f~(z(x)) for each path, over a rule of the whole law at each x."""
    values = []
    for row in x:
        z, weights = rules(law, row)
        values.append(paths.f(z) @ weights)
    return torch.stack(values, dim=1)


def product_rule(law, x):
    """Nodes and weights of z(x), coordinate by coordinate."""
    columns = []
    for marginal, at in zip(law.marginals, x.split(1), strict=True):
        if isinstance(marginal, Placed):
            z, weights = marginal.rule(at, 10)
            counts = weights[0] > 0  # where a law has no mass there are panels nevertheless
            columns.append((z[0, counts], weights[0, counts]))
        else:
            atoms, masses = marginal.atoms
            low, high = marginal.interval(1e-14)
            xi, weights = torch.empty(0).double(), torch.empty(0).double()
            if masses.sum() < 1:
                xi, weights = composite(marginal, panels(marginal, low, high, marginal.breaks), 16)
            columns.append((at + torch.cat([xi, atoms]), torch.cat([weights, masses])))
    (a, v), (b, w) = columns
    return torch.cartesian_prod(a, b), torch.outer(v, w).reshape(-1)


@pytest.mark.parametrize(
    "name",
    [
        "biased",
        "triangular",
        "mixture",
        "relative",
        "factor",
        "clip",
        "reflect",
        "truncate",
        "one edge",
        "environment",
    ],
)
def test_paths_of_g_are_the_smoothing_of_paths_of_f(name):
    _, _, posterior = posterior_of(name)
    core = posterior.core
    paths = sample_paths(core, 5, 300, torch.Generator().manual_seed(0))
    x = uniform(3, 2, seed=4)
    expected = smoothed_paths(paths, core.kernel.law, x, product_rule)
    np.testing.assert_allclose(paths.g(x), expected, atol=2e-9)
    np.testing.assert_allclose(paths.g_of(torch.arange(3), x), expected.diagonal(), atol=2e-9)


def test_joint_samples_are_averages():
    _, _, posterior = posterior_of("joint samples")
    core = posterior.core
    paths = sample_paths(core, 5, 300, torch.Generator().manual_seed(0))
    x = uniform(6, 2, seed=4)
    away = tensor(JOINT.copy())[:, [1, 0]]
    moved = torch.stack([paths.f(row + away).mean(-1) for row in x], dim=1)
    np.testing.assert_allclose(paths.g(x), moved, atol=1e-5)
    mean = torch.stack([core.mean_f(row + away).mean() for row in x])
    np.testing.assert_allclose(core.mean_g(x), mean, atol=1e-5)


@pytest.mark.parametrize("name", [*LAWS])
def test_prepared_covariances_are_the_same(name):
    noise, edge = LAWS[name]
    law = read_noise(noise, BOX, edge)
    kernel = StationaryKernel(tensor(1.3), ("se", "se"), tensor([0.3, 0.4]))
    smoothed = smooth(kernel, law, BOX.bounds)
    A, B = uniform(7, 2, seed=0), uniform(5, 2, seed=1)
    np.testing.assert_allclose(smoothed.gf_with(B)(A), smoothed.k_gf(A, B), atol=1e-13)
    np.testing.assert_allclose(smoothed.g_with(B)(A), smoothed.k_g(A, B), atol=1e-13)
    batch = torch.stack([A, A + 0.01])
    np.testing.assert_allclose(smoothed.gf_with(B)(batch)[0], smoothed.k_gf(A, B), atol=1e-13)
    np.testing.assert_allclose(smoothed.k_g(batch, B)[0], smoothed.k_g(A, B), atol=1e-13)
    if name == "factor":  # a lambda can't be pickled
        return
    again = pickle.loads(pickle.dumps(smoothed.gf_with(B)))
    np.testing.assert_array_equal(again(A), smoothed.gf_with(B)(A))


JOINT_LAWS = {
    "biased, own and shared": Joint(
        Normal([0.05, 0.1], mean=[0.1, -0.2]), [((1, 0), Shared(Uniform(0.2, mean=0.1)))]
    ),
    "not Normal": Joint(
        Independent([Triangular(0.2), Uniform(0.1)]), [((0, 1), Shared(Laplace(0.05), [1, -2]))]
    ),
    "samples and own": Joint(
        Independent([Discrete([-0.1, 0.1]), Normal(0.1)]), [((0, 1), Empirical(JOINT[:20]))]
    ),
    "correlated and own": Joint(
        Independent([Triangular(0.1)] * 2),
        [((0, 1), Normal(covariance=[[0.01, 0.008], [0.008, 0.01]], mean=[0.1, 0.0]))],
    ),
}


@pytest.mark.parametrize("name", JOINT_LAWS)
def test_joint_smoothing_is_that_of_samples(name):
    law = JOINT_LAWS[name]
    kernel = StationaryKernel(tensor(1.0), ("se", "se"), tensor([0.3, 0.4]))
    smoothed = smooth(kernel, law)
    A, B = uniform(3, 2, seed=0), uniform(4, 2, seed=1)
    generator = torch.Generator().manual_seed(0)
    xi, other = (law.sample(200_000, generator) for _ in range(2))

    def average(shift):
        delta = A[:, None, None] - B[:, None] + shift
        return torch.exp(-0.5 * (delta / kernel.lengthscale).square().sum(-1)).mean(-1)

    np.testing.assert_allclose(smoothed.k_gf(A, B), average(xi), atol=3e-3)
    np.testing.assert_allclose(smoothed.k_g(A, B), average(xi - other), atol=3e-3)
    gf, g = smoothed.at_same_point(A)
    np.testing.assert_allclose(gf, smoothed.k_gf(A, A).diagonal(), atol=1e-13)
    np.testing.assert_allclose(g, smoothed.k_g(A, A).diagonal(), atol=1e-13)


@pytest.mark.parametrize("lengthscale", [1e-3, 0.02, 0.05, 0.4, 1e3])
def test_products_of_matrices_are_sums_over_pairs(lengthscale):
    """Also where exponentials of the products would overflow, and pairs are looked at instead."""
    kernel = StationaryKernel(tensor(1.0), ("se", "se"), tensor([lengthscale, 2 * lengthscale]))
    table = 0.3 * np.random.default_rng(2).uniform(-1, 1, size=(40, 2))
    law = Joint(Normal([0.1 * lengthscale, 0.0]), [((0, 1), Empirical(table))])
    smoothed = smooth(kernel, law)
    ((_, on_nodes, _),) = smoothed.parts
    A, B = uniform(30, 2, seed=0), uniform(20, 2, seed=1)
    for which, found in enumerate((smoothed.k_gf(A, B), smoothed.k_g(A, B))):
        whitened, rule = on_nodes.coordinates[which], on_nodes.rules[which]
        delta = whitened(A)[:, None] - whitened(B)
        apart = (delta[:, :, None] + rule.nodes).square().sum(-1)
        pairs = whitened.factor * (-0.5 * apart).exp() @ rule.weights
        np.testing.assert_allclose(found, pairs, rtol=1e-9, atol=1e-12)


def test_a_common_normal_shift_is_a_correlated_normal_law():
    kernel = StationaryKernel(tensor(1.0), ("se", "se"), tensor([0.3, 0.4]))
    common = smooth(kernel, Shared(Normal(0.1), loads=[1.0, -0.5]))
    correlated = smooth(kernel, Normal(covariance=[[0.01, -0.005], [-0.005, 0.0025]]))
    A, B = uniform(7, 2, seed=0), uniform(8, 2, seed=1)
    np.testing.assert_allclose(common.k_gf(A, B), correlated.k_gf(A, B), atol=1e-12)
    np.testing.assert_allclose(common.k_g(A, B), correlated.k_g(A, B), atol=1e-12)


def test_own_and_common_noise_add_up():
    kernel = StationaryKernel(tensor(1.0), ("se", "se"), tensor([0.3, 0.4]))
    both = Joint(Normal([0.05, 0.0]), [((0, 1), Shared(Normal(0.1)))])
    summed = Normal(covariance=[[0.0125, 0.01], [0.01, 0.01]])
    A, B = uniform(7, 2, seed=0), uniform(8, 2, seed=1)
    for k in ("k_gf", "k_g"):
        found, expected = (getattr(smooth(kernel, law), k)(A, B) for law in (both, summed))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_units_do_not_matter_for_noise_that_depends_on_x():
    """The same problem in metres and in millimetres."""
    found = []
    for unit in (1.0, 1000.0):
        space = Space({"x": (1.0 * unit, 3.0 * unit)})
        law = read_noise({"x": Normal(0.05, relative=True)}, space, "clip")
        X = 1 + 2 * uniform(6, 1, seed=2)
        y = torch.sin(3 * X[:, 0])
        model, _ = fit_surrogate(unit * X, y, space.bounds, law)
        posterior = RobustPosterior.from_model(model, law, space.bounds)
        found.append(posterior.g(unit * tensor([[1.2], [2.5]])).mean)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_relative_noise_needs_no_names():
    model = random_model(3, 1, 6)
    posterior = RobustPosterior.from_model(model, Normal(0.2, relative=True), unit_box(1))
    at_zero = posterior.joint(tensor([[0.0]]))
    assert float(at_zero.m_g) == pytest.approx(float(at_zero.m_f), abs=1e-9)


def run(f, space, noise, budget, by_method=4, **settings):
    """Most designs are spread, which is quick; the last ones are chosen by the method."""
    optimizer = Optimizer(space, noise=noise, num_initial=budget - by_method, **settings)
    for _ in range(budget):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return optimizer


def test_noise_on_a_logarithmic_scale():
    """A cliff below 0.01: with errors in proportion the optimum keeps its distance."""

    def f(p):
        u = math.log10(p["rate"])
        return -((u + 2) ** 2) - 4 * max(0.0, -2 - u) ** 2

    space = {"rate": Float(1e-4, 1.0, log=True)}
    optimizer = run(f, space, {"rate": LogNormal(0.5)}, 16, by_method=8, seed=2)
    sigma = 0.5 / math.log(10)
    z = np.linspace(-5, 5, 2001)
    weights = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    grid = np.linspace(-2.2, -1.2, 400)
    g = [(weights * [f({"rate": 10 ** (u + sigma * t)}) for t in z]).sum() for u in grid]
    best = optimizer.recommend()
    assert math.log10(best.params["rate"]) == pytest.approx(grid[int(np.argmax(g))], abs=0.05)
    assert best.mean == pytest.approx(max(g), abs=0.02)
    assert isinstance(optimizer.noise, Normal)  # exactly Normal in log space


def test_an_environment_is_averaged_over_and_set_in_experiments():
    def f(p):  # the best x follows the temperature
        return -((p["x"] - p["t"] / 100) ** 2)

    space = {"x": (0.0, 1.0), "t": (0.0, 60.0)}
    noise = {"t": Environment(Normal(5.0, mean=30.0))}
    optimizer = run(f, space, noise, 20, seed=0)
    best = optimizer.recommend()
    assert set(best.params) == {"x"}
    assert best.params["x"] == pytest.approx(0.3, abs=0.01)
    assert best.mean == pytest.approx(-((5 / 100) ** 2), abs=1e-4)
    assert best.nominal_mean == pytest.approx(0, abs=1e-4)  # at 30 degrees
    assert set(optimizer.nominal().params) == {"x"}
    assert "best_t" not in optimizer.history.columns
    settings = optimizer.history["t"]
    assert settings.max() - settings.min() > 20  # the search chooses them


def test_an_environment_that_is_only_observed():
    random = np.random.default_rng(0)
    space = {"x": (0.0, 1.0), "wind": (0.0, 10.0)}
    noise = {"wind": Environment(Uniform(2.0, mean=5.0), observed=True)}
    optimizer = Optimizer(space, noise=noise, seed=1)
    for _ in range(12):
        params = optimizer.ask()
        assert set(params) == {"x"}
        with pytest.raises(ValueError, match="wind"):
            optimizer.tell(params, 1.0)
        wind = random.uniform(3, 7)
        optimizer.tell({**params, "wind": wind}, -((params["x"] - wind / 10) ** 2))
    assert len(optimizer.history) == 12
    assert all(trial.origin != "told" for trial in optimizer.trials)
    optimizer.ask()
    optimizer.tell(optimizer.ask(), None)  # a failed one may not have seen the wind
    assert optimizer.recommend().params["x"] == pytest.approx(0.5, abs=0.03)


def test_a_category_that_may_be_confused():
    """b is best alone, but c is often taken for it."""
    heights = {"a": 1.0, "b": 2.0, "c": -6.0, "d": 1.5}
    matrix = [[1, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    space = {"x": (0.0, 1.0), "c": Categorical(list(heights))}
    optimizer = run(
        lambda p: heights[p["c"]] - (p["x"] - 0.4) ** 2,
        space,
        {"x": Normal(0.05), "c": Substitution(matrix)},
        16,
        seed=3,
    )
    assert optimizer.recommend().params["c"] == "d"
    assert optimizer.nominal().params["c"] == "b"
    moments = optimizer.posterior.joint(
        torch.stack([optimizer.space.to_tensor({"x": 0.4, "c": c}) for c in heights])
    )
    expected = np.array(matrix) @ list(heights.values()) - 0.05**2
    np.testing.assert_allclose(moments.m_g, expected, atol=0.1)


def test_a_category_may_be_an_environment():
    space = {"x": (0.0, 1.0), "season": Categorical(["summer", "winter"])}
    noise = {"season": Environment({"summer": 0.75, "winter": 0.25})}
    optimizer = run(
        lambda p: -((p["x"] - (0.8 if p["season"] == "summer" else 0.0)) ** 2),
        space,
        noise,
        14,
        seed=0,
    )
    assert optimizer.recommend().params == {"x": pytest.approx(0.6, abs=0.02)}


@thorough
def test_whole_numbers_may_be_perturbed():
    """One layer too many or too few: a broad optimum is better than a tall one."""
    heights = [0, 0, 0, 5, 0, 0, 3, 3.5, 3, 2]
    optimizer = run(
        lambda p: heights[p["n"]],
        {"n": Int(0, 9)},
        {"n": Discrete([-1, 0, 1])},
        12,
        by_method=9,
        seed=1,
        edge="clip",
    )
    assert optimizer.recommend().params["n"] in (7, 8)
    assert optimizer.nominal().params["n"] == 3


def test_edges_change_the_optimum():
    """f rises towards the upper end and falls beyond it."""

    def f(p):
        return p["x"] if p["x"] <= 1 else 1 - 20 * (p["x"] - 1)

    best = {
        edge: run(f, {"x": (0.0, 1.0)}, {"x": Normal(0.1)}, 14, seed=0, edge=edge)
        .recommend()
        .params["x"]
        for edge in ("clip", "truncate")
    }
    assert best["clip"] == pytest.approx(1.0, abs=0.02)
    assert best["truncate"] == pytest.approx(1.0, abs=0.02)


def test_executed_values_are_what_the_model_learns_from():
    optimizer = Optimizer({"x": (0.0, 1.0)}, noise={"x": Normal(0.05)}, seed=0)
    planned = optimizer.ask(3)
    for number, params in enumerate(planned):
        executed = {"x": params["x"] + 0.1 * (-1) ** number}
        optimizer.tell(executed, -((executed["x"] - 0.5) ** 2), trial=number)
    assert [t.planned for t in optimizer.trials] == planned
    assert [t.state for t in optimizer.trials] == ["complete"] * 3
    (row,) = optimizer.deviations.to_dict("records")
    assert row["parameter"] == "x"
    assert row["pairs"] == 3
    assert row["std"] == pytest.approx(0.1)
    assert row["assumed_std"] == pytest.approx(0.05)
    assert row["ratio"] == pytest.approx(2)
    with pytest.raises(ValueError, match="trial 7 is not pending"):
        optimizer.tell({"x": 0.3}, 1.0, trial=7)
    optimizer.tell({"x": 0.3}, 0.1)  # nobody asked for it: no deviation
    assert optimizer.deviations["pairs"].tolist() == [3]


def test_deviations_are_relative_to_noise_where_it_was():
    optimizer = Optimizer({"x": (1.0, 2.0)}, noise={"x": Normal(0.1, relative=True)}, seed=0)
    x = optimizer.ask()["x"]
    optimizer.tell({"x": 1.05 * x}, 0.0, trial=0)
    (row,) = optimizer.deviations.to_dict("records")
    assert row["assumed_std"] == pytest.approx(0.1 * x)
    assert row["ratio"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("noise", "settings", "message"),
    [
        ({"x": Normal(0.1)}, {"edge": "bounce"}, "there is no edge 'bounce'"),
        ({"x": Normal(0.1)}, {"edge": {"z": "clip"}}, "edge of an unknown parameter"),
        ({"c": Normal(0.1)}, {}, "'c' is a choice"),
        ({"x": Substitution(0.1)}, {}, "only a choice can be replaced by another choice"),
        ({"c": Substitution([[1.0, 0.0], [0.0, 1.0]])}, {}, "2 rows but the category 3 choices"),
        ({"c": Environment({"p": 0.5, "q": 0.1})}, {}, "must sum to 1"),
        ({"r": Normal(1.0)}, {}, "the scale is logarithmic"),
        ({"x": LogNormal(0.1)}, {}, "range must lie above 0"),
        ({"x": Environment(Normal(0.1, relative=True))}, {}, "must be that of the quantity itself"),
        ({("x", "y"): Normal(0.1)}, {}, "write Shared"),
        ({("x", "y"): Shared(Normal(0.1))}, {"edge": "clip"}, "edge='allow' only"),
        (
            {("x", "y"): Shared(Normal(0.1)), "y": Normal(0.1, relative=True)},
            {},
            "that of 'y' alone, .* depends on its value",
        ),
        ({("x", "r"): Shared(Normal(0.1))}, {}, "give it a law of its own"),
        ({("x", "z"): Shared(Normal(0.1))}, {}, "unknown parameter"),
        ({("x", "y"): Shared(Normal(0.1)), ("y",): Normal(0.1)}, {}, "in both"),
        ({"x": Normal(lambda x: -1.0)}, {}, "not negative"),
        ({"r": Environment(Normal(0.1))}, {}, "has values below 0"),
        ({"c": Environment(Normal(0.1))}, {}, "'c' is a choice"),
    ],
)
def test_bad_noise_is_refused_by_name(noise, settings, message):
    space = {
        "x": (0.0, 1.0),
        "y": (0.0, 1.0),
        "r": Float(0.1, 1.0, log=True),
        "c": Categorical(["p", "q", "s"]),
    }
    with pytest.raises((ValueError, TypeError), match=message):
        Optimizer(space, noise=noise, **settings)


def test_nothing_but_an_environment_is_refused():
    with pytest.raises(ValueError, match="nothing to design"):
        Optimizer({"t": (0.0, 1.0)}, noise={"t": Environment(Normal(0.1, mean=0.5))})


@pytest.mark.parametrize("probability", [-0.1, 1.5, [[0.5, 0.4], [0, 1]], [0.5, 0.5]])
def test_bad_confusions_are_refused(probability):
    with pytest.raises((ValueError, TypeError), match="Substitution"):
        Substitution(probability)


def test_one_law_for_all_may_depend_on_x():
    law = read_noise(Normal(0.1, relative=True), BOX)
    assert isinstance(law, Independent)
    assert all(isinstance(marginal, Placed) for marginal in law.marginals)
    assert read_noise(Normal(0.1), BOX) == Normal([0.1, 0.1])


def test_whole_runs_take_edges():
    result = meseta.maximize(
        lambda p: p["x"],
        {"x": (0.0, 1.0)},
        noise={"x": Normal(0.1)},
        edge="clip",
        budget=5,
        progress=False,
    )
    assert result.params["x"] == pytest.approx(1.0, abs=0.02)
