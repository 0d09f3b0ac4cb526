"""Robust plots in optuna-dashboard: the numbers first, then that they are saved."""

import json
import math

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import meseta
from meseta.integrations.dashboard import show_robust
from meseta.integrations.optuna import recommend
from meseta.report.views.landscape import slice_along
from meseta.report.views.search import progress
from meseta.report.views.subject import Subject

NOISE = {"x": meseta.Normal(0.1)}
SPACE = {
    "x": FloatDistribution(0.0, 1.0),
    "rate": FloatDistribution(1e-3, 1.0, log=True),
    "num": IntDistribution(1, 4),
    "kind of": CategoricalDistribution(["a", None, True]),
}


def made(num=10, direction="maximize", sign=1.0, **options):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction=direction, **options)
    for i in range(num):
        params = {
            "x": (0.37 * i) % 1.0,
            "rate": 10 ** -((0.7 * i) % 3.0),
            "num": 1 + i % 4,
            "kind of": ("a", None, True)[i % 3],
        }
        value = sign * (math.sin(3 * params["x"]) - 0.1 * params["num"])
        study.add_trial(optuna.trial.create_trial(params=params, distributions=SPACE, value=value))
    return study


def subject_of(best):
    return Subject(best.optimizer, best.space.outside, best.space.to_optuna)


def test_slices_show_f_and_g_through_the_robust_optimum():
    best = recommend(made(), noise=NOISE)
    subject = subject_of(best)
    by_name = {subject.name(inside): slice_along(subject, inside, 21) for inside in subject.design}
    assert list(by_name) == ["kind of", "num", "rate", "x"]
    for name, each in by_name.items():
        here = each.axis.values.index(best.params[name])
        assert (each.robust.x, each.robust.y) == (best.params[name], best.mean)
        assert (each.nominal.x, each.nominal.y) == (
            best.nominal.params[name],
            best.nominal.nominal_mean,
        )
        assert each.g_mean[here] == pytest.approx(best.mean, abs=1e-9)
        assert each.g_std[here] <= best.std + 1e-6  # a curve, as if hyper-parameters were known
        assert each.f_mean[here] == pytest.approx(best.nominal_mean, abs=1e-9)
        assert each.f_std[here] <= best.nominal_std + 1e-6
        # nothing along a slice is a better bet than the robust optimum
        assert max(each.g_mean) <= best.mean + best.std
    assert by_name["num"].axis.values == (1, 2, 3, 4)
    assert by_name["kind of"].axis.values == ("a", None, True)
    scales = {name: each.axis.scale for name, each in by_name.items()}
    assert scales == {"kind of": "choices", "num": "linear", "rate": "log", "x": "linear"}
    assert (by_name["x"].axis.values[0], by_name["x"].axis.values[-1]) == (0.0, 1.0)


def test_environments_have_no_slice():
    noise = {"x": meseta.Normal(0.1), "rate": meseta.Environment(meseta.Uniform(0.2, mean=0.5))}
    best = recommend(made(), noise=noise)
    subject = subject_of(best)
    assert "rate" not in subject.design
    each = slice_along(subject, "x", 5)
    assert "rate" not in best.params
    here = each.axis.values.index(best.params["x"])
    assert each.g_mean[here] == pytest.approx(best.mean, abs=1e-9)


def test_progress_ends_with_what_is_recommended_now():
    best = recommend(made(), noise=NOISE)
    way = progress(subject_of(best), most=4)
    assert way.evaluations == (1, 4, 7, 10)
    assert way.params[-1] == best.params
    assert (way.best[-1].mean, way.best[-1].std) == (best.mean, best.std)
    assert way.best[1].mean == recommend(made(4), noise=NOISE).mean


def plots(storage):
    """What the dashboard finds, by id: the parts of a figure stand in numbered attributes."""
    parts = {}
    number = storage.get_study_id_from_name("plots")
    for key, text in storage.get_study_system_attrs(number).items():
        name, _, index = key.removeprefix("dashboard:plot_data:").rpartition(":")
        parts.setdefault(name, {})[int(index)] = text
    return {n: json.loads("".join(p[i] for i in sorted(p))) for n, p in parts.items()}


def test_plots_are_saved_with_the_study_and_replaced():
    storage = optuna.storages.InMemoryStorage()
    study = made(storage=storage, study_name="plots")
    best = show_robust(study, noise=NOISE, most=3)
    saved = plots(storage)
    assert {"meseta-over-evaluations", "meseta-along-x", "meseta-along-num"} <= set(saved)
    assert len(saved) == 5
    lines = {trace["name"]: trace for trace in saved["meseta-along-x"]["data"] if "name" in trace}
    assert {"nominal value (f)", "robust value (g)", "nominal optimum", "robust optimum"} <= set(
        lines
    )
    assert lines["robust optimum"]["x"] == [best.params["x"]]
    assert lines["robust optimum"]["y"] == [best.mean]
    assert saved["meseta-along-rate"]["layout"]["xaxis"]["type"] == "log"
    for trial in made(12).trials[10:]:
        study.add_trial(trial)
    again = show_robust(study, noise=NOISE, most=2)
    renewed = plots(storage)
    assert set(renewed) == set(saved)
    assert again.mean != best.mean
    over = renewed["meseta-over-evaluations"]["data"][-1]
    assert list(over["x"]) == [1, 12]
