"""What reports show, against other ways to the same numbers."""

import math
import re

import numpy as np
import optuna
import pytest
import torch

import meseta
from examples import thorough
from gp_models import without_value
from meseta.gp.in_use import sampled_f
from meseta.gp.mixture import Mixture
from meseta.integrations.botorch import to_botorch
from meseta.integrations.optuna.study_report import study_report
from meseta.noise.perturbed import perturbed
from meseta.noise.width import read_width
from meseta.optimizer.loosened import Loosened
from meseta.report.views.answer import answer
from meseta.report.views.estimate import robust_value
from meseta.report.views.goal import ByGoal
from meseta.report.views.health import findings
from meseta.report.views.landscape import landscape, map_over, slice_along
from meseta.report.views.noise_in_words import law_in_words, noise_in_words
from meseta.report.views.outcomes import LEVELS, outcomes
from meseta.report.views.report import report
from meseta.report.views.search import leave_one_out, progress, search
from meseta.report.views.subject import Subject
from meseta.report.views.tolerances import tolerances
from meseta.report.views.wording import Terms

NOISE = {"x": meseta.Normal(0.08), "y": meseta.Uniform(0.1)}


def hills(p):
    return math.exp(-20 * (p["x"] - 0.3) ** 2) + 1.2 * math.exp(-300 * (p["x"] - 0.8) ** 2) - p["y"]


def told(f=hills, num=16, noise=None, direction="maximize", space=None, kernel="se", **settings):
    """An optimizer that has seen a spread of points; `subject` has a mixture of kernels."""
    optimizer = meseta.Optimizer(
        space or {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        noise=NOISE if noise is None else noise,
        direction=direction,
        num_initial=num,
        kernel=kernel,
        **settings,
    )
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, f(params))
    return optimizer


@pytest.fixture(scope="module")
def subject():
    return Subject(told(kernel="auto"))


def test_gain_and_price_are_differences_under_the_joint_posterior(subject):
    made = answer(subject)
    assert made.robust.params == subject.robust.params
    assert made.robust.mean == subject.robust.mean
    assert made.nominal.nominal_std == subject.nominal.nominal_std
    assert made.gain.mean == pytest.approx(subject.robust.mean - subject.nominal.mean)
    assert made.price.mean == pytest.approx(
        subject.nominal.nominal_mean - subject.robust.nominal_mean
    )
    assert made.gain.mean >= -subject.nominal.std  # of two the better bet, not the higher mean
    assert made.price.mean >= -subject.robust.nominal_std
    # of f by BoTorch, of g by averaging paths over draws of the noise
    x = torch.cat([subject.x_nominal, subject.x_robust])
    means, variances = [], []
    for surrogate in subject.optimizer.fitted.fit.surrogates:
        of_f = to_botorch(surrogate).posterior(x)
        a, b = of_f.mean.flatten().tolist()
        means.append(a - b)
        of_f = of_f.distribution.covariance_matrix.detach()
        variances.append(float(of_f[0, 0] + of_f[1, 1] - 2 * of_f[0, 1]))
    weights = np.array(subject.optimizer.fitted.fit.weights)
    within, mean = weights @ variances, weights @ means
    sd = math.sqrt(within + weights @ (np.array(means) - mean) ** 2)
    assert made.price.mean == pytest.approx(mean, abs=1e-6)
    assert made.price.std == pytest.approx(sd, rel=1e-3)
    z = torch.cat([perturbed(subject.law, row.expand(400, -1), subject.generator(9)) for row in x])
    values = sampled_f(subject.optimizer.fitted.mixture.at_modes, z, 300, subject.generator(1))
    first, second = values.view(300, 2, 400).mean(-1).T
    spread = abs(subject.optimizer.user_units[1]) * float((second - first).std())
    assert made.gain.std == pytest.approx(spread, rel=0.3)


@thorough
def test_everything_has_the_sign_of_the_user():
    up, down = told(num=9), told(lambda p: -hills(p), num=9, direction="minimize")
    a, b = report(up), report(down)
    assert b.maximize is False
    assert b.answer.robust.mean == pytest.approx(-a.answer.robust.mean)
    assert b.answer.gain == a.answer.gain
    assert b.answer.price == a.answer.price
    assert b.landscape.slices[0].g_mean == tuple(-v for v in a.landscape.slices[0].g_mean)
    assert b.tolerances.each[0].halving == a.tolerances.each[0].halving
    assert b.tolerances.each[0].slope == -a.tolerances.each[0].slope
    assert b.search.fit.predicted[0].mean == pytest.approx(-a.search.fit.predicted[0].mean)
    assert b.search.progress.best[-1].mean == -a.search.progress.best[-1].mean


def test_outcomes_are_those_of_the_best_guess_and_intervals_those_of_the_posterior(subject):
    both = outcomes(subject, Terms(at_least=0.5, at_most=0.9))
    z = perturbed(subject.law, subject.x_robust.expand(400, -1), subject.generator(8))
    levels = torch.tensor(LEVELS, dtype=torch.double)
    guess = subject.moments(z).m_f  # scatter
    drawn, promised = [], subject.optimizer.fitted.mixture.promised  # ignorance
    for part, num in zip(promised.parts, promised.shares(600), strict=True):
        values, vectors = torch.linalg.eigh(part.covariance_f(z, z))
        root = vectors * values.clamp_min(0).sqrt()
        normal = torch.randn(400, num, generator=subject.generator(7), dtype=torch.double)
        drawn.append(part.mean_f(z) + (root @ normal).T)
    offset, scale = subject.optimizer.user_units
    paths = offset + scale * torch.cat(drawn)
    scale = float(paths.std())
    for between, exact, each in zip(
        both.robust.quantiles, guess.quantile(levels), paths.quantile(levels, dim=-1), strict=True
    ):
        assert between.low <= between.value <= between.high
        assert between.value == pytest.approx(float(exact), abs=0.1 * scale)
        assert between.low == pytest.approx(float(each.quantile(0.025)), abs=0.5 * scale)
        assert between.high == pytest.approx(float(each.quantile(0.975)), abs=0.5 * scale)
    assert both.robust.std.value == pytest.approx(float(guess.std()), rel=0.15)
    meets = float(((guess >= 0.5) & (guess <= 0.9)).double().mean())
    assert both.robust.meets.value == pytest.approx(meets, abs=0.06)
    assert both.robust.meets.low <= both.robust.meets.value <= both.robust.meets.high
    assert sum(both.robust.values) / len(both.robust.values) == pytest.approx(
        subject.robust.mean, abs=0.1 * scale
    )
    assert sum(both.robust_share) + both.outside[0] == pytest.approx(1.0)
    assert len(both.edges) == len(both.nominal_share) + 1
    for low, share, high in zip(*both.robust_band[:1], both.robust_share, both.robust_band[1],
                                strict=True):  # fmt: skip
        assert 0 <= low <= share <= high <= 1
    assert outcomes(subject, Terms()).robust.meets is None


def test_outcomes_without_noise_are_what_the_model_says():
    made = report(told(num=8, noise={}), Terms(at_most=2.0))
    assert made.tolerances is None
    assert made.noise == ()
    assert made.outcomes.robust.meets.value == 1.0
    assert made.answer.gain.mean == pytest.approx(0.0, abs=1e-6)


def test_tolerances_start_at_the_nominal_optimum_and_pass_through_today(subject):
    one = Subject(told(lambda p: hills({**p, "y": 0.0}), space={"x": (0.0, 1.0)},
                       noise={"x": meseta.Normal(0.08)}))  # fmt: skip
    (each,) = tolerances(one, Terms()).each
    today = each.factors.index(1.0)
    assert each.best[0].mean == pytest.approx(one.nominal.nominal_mean, abs=1e-6)
    assert each.params[0]["x"] == pytest.approx(one.nominal.params["x"], abs=1e-3)
    assert each.best[today].mean == pytest.approx(one.robust.mean, abs=1e-9)
    assert each.kept[today] == pytest.approx(one.robust.mean, abs=1e-9)
    assert each.std == pytest.approx(0.08)
    assert each.halving.mean == pytest.approx(
        each.best[each.factors.index(0.5)].mean - each.best[today].mean
    )
    assert each.halving.mean > 0
    assert each.alone.value == pytest.approx(1.0, abs=0.03)
    assert each.total.value == pytest.approx(1.0, abs=0.03)
    for best, kept in zip(each.best, each.kept, strict=True):
        assert best.mean >= kept - best.std  # of two the better bet, not the higher mean
    # by differences of the mean of f
    for tolerance in tolerances(subject, Terms()).each:
        column = subject.optimizer.space.columns_of(tolerance.name).start
        step = torch.zeros(2, dtype=torch.double)
        step[column] = 1e-5
        ends = subject.moments(torch.cat([subject.x_robust - step, subject.x_robust + step])).m_f
        slope = float(ends[1] - ends[0]) / 2e-5
        assert tolerance.slope == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_tolerances_are_compared_by_what_the_design_was_chosen_by():
    optimizer = told(
        lambda p: 3 * p["x"], space={"x": (0.0, 1.0)}, noise={"x": meseta.Normal(0.1)},
        num=8, measure=meseta.OnTarget(1.5),
    )  # fmt: skip
    (each,) = tolerances(Subject(optimizer), Terms()).each
    squared = [(3 * 0.1 * factor) ** 2 for factor in each.factors]  # E (f - target)^2 at x = 0.5
    assert [best.mean for best in each.best] == pytest.approx(squared, abs=0.01)
    assert each.halving.mean == pytest.approx(0.75 * 0.09, abs=0.01)


def test_tolerances_share_the_variance_of_a_linear_function():
    linear = told(lambda p: 3 * p["x"] - p["y"], num=20)
    each = {t.name: t for t in tolerances(Subject(linear), Terms()).each}
    parts = {"x": (3 * 0.08) ** 2, "y": 0.1**2 / 3}
    for name, part in parts.items():
        expected = part / sum(parts.values())
        assert each[name].alone.value == pytest.approx(expected, abs=0.03)
        assert each[name].total.value == pytest.approx(expected, abs=0.03)
        # halving the noise of a linear function, inside the box, changes nothing but its ends
        assert each[name].slope == pytest.approx(3.0 if name == "x" else -1.0, rel=0.02)


def test_slopes_on_a_log_scale_are_per_unit_of_the_parameter():
    space = {"rate": meseta.Float(0.01, 1.0, log=True)}
    optimizer = told(
        lambda p: math.log(p["rate"]), 12, {"rate": meseta.LogNormal(0.1)}, space=space
    )
    (each,) = tolerances(Subject(optimizer), Terms()).each
    assert each.log
    assert each.std == pytest.approx(0.1)
    best = Subject(optimizer).robust.params["rate"]
    assert each.slope == pytest.approx(1 / best, rel=0.02)


def test_slices_and_maps_are_the_posterior_on_a_grid(subject):
    along = slice_along(subject, "x", 11)
    over = map_over(subject, "x", "y", 7)
    posterior, best = subject.optimizer.posterior, subject.robust.params
    for i, x in enumerate(along.axis.values):
        at = posterior.joint(torch.tensor([[x, best["y"]]], dtype=torch.double))
        assert along.f_mean[i] == pytest.approx(float(at.m_f), abs=1e-9)
        assert along.g_std[i] == pytest.approx(float(at.v_g.sqrt()), rel=1e-4, abs=1e-7)
    for j, y in enumerate(over.y.values):
        for i, x in enumerate(over.x.values):
            at = posterior.joint(torch.tensor([[x, y]], dtype=torch.double))
            assert over.g_mean[j][i] == pytest.approx(float(at.m_g), abs=1e-9)
    assert best["x"] in along.axis.values
    assert along.robust.y == subject.robust.mean
    assert over.robust.y == best["y"]
    assert not along.exact
    assert over.exact
    assert [o.value for o in along.data] == [t.value for t in subject.optimizer.trials]


def test_the_acquisition_is_that_of_the_next_point_and_asking_disturbs_nothing():
    optimizer = told(lambda p: hills({**p, "y": 0}), space={"x": (0.0, 1.0)},
                     noise={"x": meseta.Normal(0.08)}, method="nes-ep")  # fmt: skip
    view = landscape(Subject(optimizer), 21)
    assert len(optimizer.trials) == 16
    asked = optimizer.ask()
    assert view.next_point.params == asked
    x = torch.tensor(view.next_point.axis.values, dtype=torch.double)[:, None]
    expected = optimizer.info.acquisition.value(x).tolist()
    assert view.next_point.acquisition == pytest.approx(expected)
    assert view.maps == ()
    assert view.slices[0].exact


def test_leave_one_out_is_what_the_model_says_without_each_value(subject):
    made = leave_one_out(subject)
    mixture, units = subject.optimizer.posterior.mixture, subject.optimizer.posterior.units
    assert len(mixture.parts) > 1
    for i in (0, 5, 15):
        parts, extra = [], 0.0
        for core, weight in zip(mixture.parts, mixture.weights, strict=True):
            parts.append(without_value(core, i))
            extra += weight * float(core.noise_variance[i])
        at = Mixture(tuple(parts), mixture.weights).moments(core.X[[i]])
        sd = float((at.v_f + extra).sqrt() * units.y_scale)
        assert made.predicted[i].mean == pytest.approx(float(units.y_to_raw(at.m_f)), abs=1e-6)
        assert made.predicted[i].std == pytest.approx(sd, rel=1e-5)
    inside = [e.low <= o <= e.high for o, e in zip(made.observed, made.predicted, strict=True)]
    assert made.covered == sum(inside) / len(inside)
    assert made.explained <= 1


def test_progress_is_what_was_recommended_then():
    result = meseta.maximize(hills, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, noise=NOISE, budget=7,
                             progress=False)  # fmt: skip
    told_then = progress(Subject(result.optimizer))
    assert told_then.evaluations == tuple(range(1, 8))
    assert told_then.best[-1].mean == result.mean
    assert told_then.params[-1] == result.params
    again = progress(Subject(result.optimizer.with_trials(result.trials)), most=3)
    assert again.evaluations == (1, 4, 7)
    assert again.best[-1].mean == pytest.approx(result.mean, rel=1e-3)


def test_reports_are_the_same_twice():
    one = {"noise": {"x": meseta.Normal(0.08)}, "space": {"x": (0.0, 1.0)}}

    def f(p):
        return hills({**p, "y": 0.0})

    assert report(told(f, 8, **one)) == report(told(f, 8, **one))


@thorough
def test_many_parameters_and_few_values_and_failures():
    names = [f"p{i}" for i in range(8)]
    optimizer = meseta.Optimizer(dict.fromkeys(names, (0.0, 1.0)), noise=meseta.Normal(0.05))
    for i in range(4):
        params = optimizer.ask()
        optimizer.tell(params, None if i == 1 else sum(params.values()))
    optimizer.ask()
    made = report(optimizer)
    assert (made.complete, made.failed, made.pending) == (3, 1, 1)
    assert len(made.landscape.slices) == 8
    assert len(made.landscape.maps) + made.landscape.left_out == 28
    assert len(made.tolerances.each) == 8
    assert [e.state for e in made.search.trials].count("failed") == 1
    topics = {finding.topic for finding in made.search.findings}
    assert {"fit", "intervals"} <= topics


def test_one_value_is_enough_and_none_is_said():
    optimizer = meseta.Optimizer({"x": (0.0, 1.0)}, noise={"x": meseta.Normal(0.1)})
    made = report(optimizer)
    assert made.answer is None
    assert made.landscape is None
    assert made.search.progress is None
    optimizer.tell({"x": 0.4}, 1.5)
    made = report(optimizer)
    assert made.search.fit is None
    assert made.answer.robust.mean == pytest.approx(1.5, abs=0.5)
    assert made.search.progress.evaluations == (1,)


def test_choices_and_environments():
    space = {
        "x": (0.0, 1.0),
        "kind": meseta.Categorical(["a", "b", "c"]),
        "heat": (10.0, 30.0),
        "passes": meseta.Int(1, 4),
    }
    noise = {
        "x": meseta.Normal(0.05),
        "kind": meseta.Substitution(0.1),
        "heat": meseta.Environment(meseta.Normal(2.0, mean=20.0)),
    }

    def f(p):
        return -((p["x"] - 0.5) ** 2) + {"a": 0, "b": 0.3, "c": 0.1}[p["kind"]] + p["heat"] / 100

    made = report(told(f, 10, noise, space=space), Terms(units={"heat": "K"}))
    assert set(made.answer.robust.params) == {"x", "kind", "passes"}
    each = {t.name: t for t in made.tolerances.each}
    assert {name for name, t in each.items() if t.environment} == {"heat"}
    assert set(each) == {"x", "kind", "heat"}
    assert each["heat"].best[0].mean == pytest.approx(each["heat"].best[-1].mean, abs=0.02)
    assert each["kind"].law == "another choice with probability 0.1"
    assert each["kind"].std is None
    assert each["kind"].slope is None
    assert each["kind"].best[0].mean > each["kind"].best[-1].mean  # confusion costs
    assert {s.axis.name: s.axis.scale for s in made.landscape.slices} == {
        "x": "linear",
        "kind": "choices",
        "passes": "linear",
    }
    words = dict(made.noise)
    assert words["heat"] == "environment: normal, standard deviation 2 K, +20 on average"
    assert words["kind"] == "another choice with probability 0.1"


def test_laws_in_words():
    for law, words in (
        (meseta.Normal(0.1), "normal, standard deviation 0.1 mm"),
        (meseta.Normal(0.05, relative=True), "normal, standard deviation 5 % of the value"),
        (meseta.Uniform(0.2, mean=0.1), "uniform, ± 0.2 mm, +0.1 on average"),
        (meseta.LogNormal(0.1), "log-normal, about 10 % up or down"),
        (meseta.Normal(lambda x: 0.1 * x), "normal, of a width that depends on the value"),
        (
            meseta.TruncatedNormal(0.1, -0.2, 0.2),
            "normal, standard deviation 0.1 mm, cut off at -0.2 and 0.2 mm",
        ),
        (meseta.Laplace(0.1), "Laplace(0.1)"),
        (meseta.Uniform([0.1, 0.2]), "uniform, ± 0.1, 0.2"),
    ):
        assert law_in_words(law, "mm") == words
    sample = meseta.Empirical([0.01 * i for i in range(200)])
    assert len(law_in_words(sample)) <= 120


def test_noise_that_is_shared_is_said_once():
    noise = {("x", "y"): meseta.Shared(meseta.Normal(0.05)), "x": meseta.Normal(0.02)}
    subject = Subject(told(noise=noise))
    assert [who for who, _ in noise_in_words(subject, Terms())] == ["x", "x, y"]
    made = tolerances(subject, Terms())
    assert {t.name: t.law for t in made.each} == {
        "x": "normal, standard deviation 0.02; together, Shared(Normal(0.05), loads=(1.0, 1.0))",
        "y": "together, Shared(Normal(0.05), loads=(1.0, 1.0))",
    }
    (remark,) = made.joint
    assert remark.startswith("x, y share a noise that moves them together")


def test_findings_name_what_was_repaired_and_what_is_doubtful():
    def texts(optimizer):
        fit = leave_one_out(Subject(optimizer))
        return [(f.level, f.topic) for f in findings(Subject(optimizer), fit.covered)]

    wide = told(noise={"x": meseta.Normal(2.0)}, num=6)
    assert ("warning", "noise") in texts(wide)
    rising = told(lambda p: p["x"], num=12)
    assert ("note", "range") in texts(rising)
    entropy = told(num=12, method="nes-ep")
    assert any(topic == "expectation propagation" for _, topic in texts(entropy))
    rejecting = told(num=6, method="nes-rs")
    assert any(topic == "rejection sampling" for _, topic in texts(rejecting))
    subject = Subject(told(num=12))
    assert ("warning", "intervals") in [(f.level, f.topic) for f in findings(subject, 0.5)]


def test_deviations_are_there_where_designs_were_carried_out_otherwise():
    optimizer = meseta.Optimizer(
        {"x": (0.0, 1.0), "y": (0.0, 1.0)}, noise={"x": meseta.Normal(0.02)}
    )
    for i in range(6):
        params = optimizer.ask()
        done = {**params, "x": params["x"] + 0.05 * (-1) ** i}
        optimizer.tell(done, hills(done), trial=i)
    found = search(Subject(optimizer))
    (each,) = found.deviations  # nobody has measured y
    assert each.name == "x"
    assert each.pairs == 6
    assert each.std == pytest.approx(0.05)
    assert each.ratio == pytest.approx(2.5)
    assert each.interval[0] > 1
    (finding,) = [each for each in found.findings if each.topic == "noise"]
    assert finding.level == "warning"
    assert "by 6 measured pairs the noise of x is 2.5 times as wide as assumed" in finding.text


def a_study(num, **settings):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(**settings)
    for i in range(num):
        trial = study.ask({"value": optuna.distributions.FloatDistribution(0.0, 1.0),
                           "kind": optuna.distributions.CategoricalDistribution([None, (1, 2)]),
                           "only": optuna.distributions.IntDistribution(3, 3)})  # fmt: skip
        if i % 4 == 1:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, math.sin(5 * trial.params["value"]))
    return study


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
def test_studies_are_reported_in_their_own_terms():
    study = a_study(12, direction="maximize", sampler=optuna.samplers.RandomSampler(1))
    study.ask()  # runs, its design unknown
    made = study_report(study, meseta.Settings(noise={"value": meseta.Normal(0.1)}), Terms())
    assert set(made.answer.robust.params) == {"value", "kind", "only"}
    assert made.answer.robust.params["only"] == 3
    assert made.tolerances.each[0].name == "value"
    assert [e.number for e in made.search.trials] == list(range(12))
    assert (made.complete, made.failed) == (9, 3)
    axes = {s.axis.name: s.axis for s in made.landscape.slices}
    assert axes["kind"].values == (None, (1, 2))
    assert made.search.fit.numbers == (0, 2, 3, 4, 6, 7, 8, 10, 11)


def test_studies_without_a_value_say_so():
    made = study_report(optuna.create_study(direction="maximize"), meseta.Settings(), Terms())
    assert made.answer is None
    assert made.parameters == ()
    study = optuna.create_study()
    study.tell(
        study.ask({"x": optuna.distributions.FloatDistribution(0, 1)}),
        state=optuna.trial.TrialState.FAIL,
    )
    made = study_report(study, meseta.Settings(), Terms())
    assert (made.failed, made.maximize) == (1, False)
    assert made.search.trials[0].state == "failed"


def test_designs_for_other_noise_keep_the_constraints():
    optimizer = told(
        lambda p: {"w": p["x"], "s": p["x"]},
        8,
        meseta.Normal(0.05),
        space={"x": (0.0, 1.0)},
        objective="w",
        constraints={"s": meseta.AtMost(0.6, 0.95)},
        seed=1,
    )
    found = tolerances(Subject(optimizer), Terms())
    assert found is not None
    (tolerance,) = found.each
    for factor, best in zip(tolerance.factors, tolerance.best, strict=True):
        # x + factor 0.05 z <= 0.6 in 95 % of the cases
        assert best.mean == pytest.approx(0.6 - 1.6449 * 0.05 * factor, abs=0.003)
    assert tolerance.halving.mean == pytest.approx(1.6449 * 0.025, abs=0.003)


@pytest.mark.parametrize("measure", ["mean", meseta.Quantile(0.05)])
def test_values_for_other_noise_are_possible(measure):
    optimizer = told(
        lambda p: 8 * max(0.0, abs(p["x"] - 0.5) - 0.2) ** 2,
        5,
        meseta.Normal(0.02),
        "minimize",
        {"x": (0.0, 1.0)},
        measure=measure,
        possible=(0.0, math.inf),
        seed=1,
    )
    subject = Subject(optimizer)
    found = tolerances(subject, Terms())
    assert found is not None
    (tolerance,) = found.each
    assert all(0 <= best.low <= best.mean <= best.high for best in tolerance.best)
    assert min(tolerance.kept) >= 0
    today = tolerance.best[tolerance.factors.index(1.0)]
    known = robust_value(subject.by_measure[0])
    if measure == "mean":  # others are means over draws, of hyper-parameters as well
        assert today.mean == known.mean
    assert today.high - today.low <= known.high - known.low  # as if hyper-parameters were known


def test_a_mistake_in_a_goal_is_not_taken_for_no_goal():
    optimizer = told(
        lambda p: {"value": 1 - p["x"] ** 2, "mass": None},
        4,
        meseta.Normal(0.1),
        space={"x": (-1.0, 1.0)},
        seed=1,
        outcomes=["mass"],
    )
    subject = Subject(optimizer)
    assert tolerances(subject, Terms(), window=False).goal is None
    with pytest.raises(ValueError, match=r"write 0\.95"):
        tolerances(subject, Terms(at_least=0.5, probability=95), window=False)
    # too few values of an outcome: nothing can be said of the goal
    limited = meseta.Optimizer(
        {"x": (-1.0, 1.0)}, noise=meseta.Normal(0.1), constraints={"mass": meseta.AtMost(3)}
    )
    for trial in optimizer.trials:
        limited.tell(trial.params, {"value": trial.value, "mass": None})
    assert tolerances(Subject(limited), Terms(at_least=0.5), window=False).goal is None


def test_tolerances_may_be_loosened_further_where_less_certainty_is_asked_for():
    optimizer = told(
        lambda p: 1 - p["x"] ** 2, 4, meseta.Normal(0.1), space={"x": (-1.0, 1.0)}, seed=1
    )
    terms = Terms(at_least=0.5)
    grown = {}
    for confidence in (0.6, 0.999):
        goal = tolerances(Subject(optimizer), terms, window=False, confidence=confidence).goal
        assert goal.confidence == confidence
        grown[confidence] = goal.each["x"].sure.kept or 0.0
    assert grown[0.6] > grown[0.999]


@pytest.mark.parametrize(
    ("sure", "guess", "words"),
    [
        ((None, None), (None, None), "cannot meet the goal by itself, not even with a tenth"),
        ((None, 1.2), (0.5, 1.4), "a tenth of its width; with another design: ± 2.4 % of"),
        ((0.7, 1.2), (0.8, 1.4), r"must be tightened to ± 1.4 % of the value \(0.7 times\)$"),
        ((0.7, 1.2), (1.1, 1.4), "by the best guess it is fine"),
        ((1.01, 1.2), (1.1, 1.4), "leave it as it is"),
        ((1.3, 1.4), (1.5, 1.6), r"may grow to ± 2.6 % of the value \(1.3 times\)"),
        ((10.0, 10.0), (10.0, 10.0), r"may grow to ± 20 % of the value \(at least 10 times\)"),
    ],
)
def test_verdict_of_a_tolerance(sure, guess, words):
    width = read_width(meseta.Uniform(0.02, relative=True))
    each = ByGoal(width, "mm", None, Loosened(*sure), Loosened(*guess))
    assert re.search(words, each.verdict)
