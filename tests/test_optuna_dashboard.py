"""Robust plots in optuna-dashboard: the numbers first, then that they are saved."""

import json
import math

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import meseta
from meseta.integrations.optuna import recommend
from meseta.integrations.optuna_dashboard import show_robust
from meseta.integrations.study_model import StudyModel
from meseta.integrations.study_views import progress, slices

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


def test_slices_show_f_and_g_through_the_robust_optimum():
    best = recommend(made(), NOISE)
    by_name = {each.name: each for each in slices(best, resolution=21)}
    assert list(by_name) == ["kind of", "num", "rate", "x"]
    for name, each in by_name.items():
        here = each.values.index(best.params[name])
        assert each.robust == (best.params[name], best.mean)
        assert each.nominal == (best.nominal.params[name], best.nominal.nominal_mean)
        assert each.g_mean[here] == pytest.approx(best.mean, abs=1e-9)
        assert each.g_std[here] == pytest.approx(best.std, abs=1e-6)
        assert each.f_mean[here] == pytest.approx(best.nominal_mean, abs=1e-9)
        assert each.f_std[here] == pytest.approx(best.nominal_std, abs=1e-6)
        # nothing along a slice is better than the robust optimum
        assert max(each.g_mean) <= best.mean + 1e-6
    assert by_name["num"].values == (1, 2, 3, 4)
    assert by_name["kind of"].values == ("a", None, True)
    assert by_name["kind of"].choices
    assert by_name["rate"].log
    assert (by_name["x"].values[0], by_name["x"].values[-1]) == (0.0, 1.0)


def test_slices_have_the_sign_of_the_user():
    up, down = recommend(made(), NOISE), recommend(made(direction="minimize", sign=-1.0), NOISE)
    for a, b in zip(slices(up, 5), slices(down, 5), strict=True):
        assert a.f_mean == tuple(-value for value in b.f_mean)
        assert a.g_std == b.g_std


def test_environments_have_no_slice():
    noise = {"x": meseta.Normal(0.1), "rate": meseta.Environment(meseta.Uniform(0.2, mean=0.5))}
    best = recommend(made(), noise)
    each = {each.name: each for each in slices(best, resolution=5)}["x"]
    assert "rate" not in best.params
    here = each.values.index(best.params["x"])
    assert each.g_mean[here] == pytest.approx(best.mean, abs=1e-9)


def test_progress_ends_with_what_is_recommended_now():
    study, model = made(), StudyModel(NOISE)
    way = progress(study, model, most=4)
    best = recommend(study, NOISE)
    assert way.evaluations == (1, 4, 7, 10)
    assert way.params[-1] == best.params
    assert (way.mean[-1], way.std[-1]) == (best.mean, best.std)
    early = made(4)
    assert way.mean[1] == recommend(early, NOISE).mean


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
    best = show_robust(study, NOISE, most=3)
    saved = plots(storage)
    assert {"meseta-over-evaluations", "meseta-along-x", "meseta-along-num"} <= set(saved)
    assert len(saved) == 5
    lines = {trace["name"]: trace for trace in saved["meseta-along-x"]["data"] if "name" in trace}
    assert list(lines) == ["f(x)", "E f(x + xi)", "nominal optimum", "robust optimum"]
    assert lines["robust optimum"]["x"] == [best.params["x"]]
    assert lines["robust optimum"]["y"] == [best.mean]
    assert saved["meseta-along-rate"]["layout"]["xaxis"]["type"] == "log"
    for trial in made(12).trials[10:]:
        study.add_trial(trial)
    again = show_robust(study, NOISE, most=2)
    renewed = plots(storage)
    assert set(renewed) == set(saved)
    assert again.mean != best.mean
    over = renewed["meseta-over-evaluations"]["data"][-1]
    assert list(over["x"]) == [1, 12]
