"""The examples: their models against their sources, and each script as a user runs it."""

import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Evaluations that are enough to go beyond the initial points.
BUDGETS = {
    "gravity_assist": 7,
    "dosing_a_reaction": 6,
    "controller_gains": 11,
    "antireflection_coating": 11,
    "hyperparameters_that_last": 10,
    "welded_beam": 2,  # every step has five models
    "clutch": 11,
}


@cache
def example(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_every_example_is_listed_and_tested():
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == {*BUDGETS, "needle_and_plateau"}
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.py)" in page for name in scripts)


@pytest.mark.parametrize("name", BUDGETS)
def test_the_example_runs(name, capsys):
    example(name)["main"](BUDGETS[name])
    printed = capsys.readouterr().out
    assert "robust optimum" in printed
    if name == "welded_beam":
        assert printed.count("beams break: shear") == 2
        return
    if name == "clutch":
        assert "cheapest tolerances" in printed
        return
    assert printed.split("\n\n")[1].count("±") == 2  # what both designs are worth, with errors


def test_an_example_runs_as_a_script():
    command = [sys.executable, EXAMPLES / "antireflection_coating.py", "--budget", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "robust optimum" in done.stdout


# What the scripts print with their own settings: the robust design, and the one it is held against.
FOUND = {
    "gravity_assist": (
        {"angle": 27.62, "speed": 4.800},
        {"angle": -0.781, "speed": 4.574},
    ),
    "dosing_a_reaction": (
        {"dose": 5.128, "temperature": 82.95},
        {"dose": 4.851, "temperature": 82.38},
    ),
    "controller_gains": (
        {"gain": 6.82, "integral_time": 6.98},
        {"gain": 9.00, "integral_time": 6.36},
    ),
    "antireflection_coating": (
        {"MgF2": 111.2, "TiO2": 8.9, "Al2O3": 86.3},
        {"MgF2": 125.45, "TiO2": 11.19, "Al2O3": 159.5},
    ),
    "hyperparameters_that_last": (
        {"learning_rate": 1.97, "momentum": 0.759, "num_features": 256, "activation": "relu"},
        {"learning_rate": 5.50, "momentum": 0.85, "num_features": 256, "activation": "relu"},
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_robust_design_is_better_once_deployed(name):
    deployed = example(name)["deployed"]
    robust, other = (deployed(design, seed=11) for design in FOUND[name])
    gain = robust - other if name == "dosing_a_reaction" else other - robust
    assert gain.mean() > 5 * gain.std() / len(gain) ** 0.5


def test_the_reactor_keeps_mass_and_has_the_published_optimum():
    reactor = example("dosing_a_reaction")
    fractions = reactor["steady_state"](np.array([4.0, 5.0]), np.array([75.0, 95.0]))
    np.testing.assert_allclose(fractions.sum(0), 1, atol=1e-6)
    assert (fractions > 0).all()
    dose, temperature = np.meshgrid(np.linspace(4.58, 4.98, 5), np.linspace(88.7, 90.7, 5))
    profit = reactor["profit"](dose.ravel(), temperature.ravel(), spoiled=0.0)
    best = profit.argmax()  # Forbes and Marlin 1996: 4.787 kg/s, 89.7 degrees C
    assert abs(dose.ravel()[best] - 4.787) < 0.05
    assert abs(temperature.ravel()[best] - 89.7) < 0.3
    # 1143.38 X_P F + 25.92 X_E F - 76.23 F_A - 114.34 F_B there, in $/s
    assert profit.max() == pytest.approx(190.98, abs=0.01)


def test_the_loop_is_stable_below_the_ultimate_gain_and_swings_with_its_period():
    loop = example("controller_gains")
    for gain, stable in ((0.9 * 7.88, True), (1.1 * 7.88, False)):
        errors, _ = loop["responses"](gain, 1e9, 1e-9, 1.0)
        early, late = np.ptp(errors[300:600, 0]), np.ptp(errors[900:, 0])
        assert (late < early) == stable
    errors, valve = loop["responses"](0.98 * 7.88, 1e9, 1e-9, 1.0)
    offset = errors[:600, 0] - 1 / (1 + 2 * 0.98 * 7.88)  # a P controller leaves 1 / (1 + K Kc)
    crossings = np.flatnonzero(np.diff(np.sign(offset[100:]))) * loop["STEP"]
    assert 2 * np.diff(crossings).mean() == pytest.approx(11.66, rel=0.03)  # Seborg et al.
    assert np.isfinite(loop["cost"](1000.0, 1.0)).all()
    assert np.abs(valve).max() <= loop["STOP"]


def test_reflectances_are_those_of_the_textbook():
    coating = example("antireflection_coating")
    reflectance, n = coating["reflectance"], coating["index_bk7"](587.6)
    assert n == pytest.approx(1.5168, abs=1e-4)  # n_d of Schott's data sheet
    assert reflectance([0.0], [1.38], 587.6) == pytest.approx(((n - 1) / (n + 1)) ** 2)
    assert reflectance([0.0], [1.38], 587.6) == pytest.approx(0.042, abs=5e-4)
    quarter = reflectance([587.6 / 4 / 1.38], [1.38], 587.6)
    assert quarter == pytest.approx(((n - 1.38**2) / (n + 1.38**2)) ** 2)  # Macleod: Y = n1^2 / n
    assert quarter == pytest.approx(0.013, abs=5e-4)
    half = reflectance([587.6 / 2 / 2.4], [2.4], 587.6)  # a half-wave layer is not there
    assert half == pytest.approx(((n - 1) / (n + 1)) ** 2)


def test_friedmans_function_and_the_edge_of_stability():
    model = example("hyperparameters_that_last")
    x = np.array([[0.5, 1.0, 0.0, 0.3, 0.2, *[0.9] * 5]])
    assert model["friedman"](x) == pytest.approx(10 + 20 * 0.25 + 3 + 1)
    phi = model["features"](64, "relu")[: model["SAMPLES"]]
    largest = np.linalg.eigvalsh(phi.T @ phi / len(phi))[-1]
    for share, fails in ((0.9, False), (1.5, True)):  # Polyak 1964: 2 (1 + momentum) / L
        (error,) = model["held_out_error"](share * 2 * 1.5 / largest, 0.5, 64, "relu")
        assert (error == 0) == fails


def test_the_beam_of_the_literature():
    """Coello's optimum costs 1.7249, and half of such beams break a limit."""
    beam, broken = (example("welded_beam")[name] for name in ("beam", "broken"))
    paper = {"weld": 0.205730, "length": 3.470489, "depth": 9.036624, "thickness": 0.205730}
    known = beam(**paper)
    assert known["cost"] == pytest.approx(1.724856, abs=1e-5)
    for name, limit in (("shear", 13600), ("bending", 30000), ("buckling", 6000)):
        assert known[name] == pytest.approx(limit, rel=1e-4)
        assert broken(paper)[name] == pytest.approx(0.5, abs=0.01)
    # the cheapest of which 99 % keep each limit, by brute force
    robust = {"weld": 0.215066, "length": 3.584230, "depth": 9.049446, "thickness": 0.215066}
    assert beam(**robust)["cost"] == pytest.approx(1.8296, abs=1e-4)
    assert max(broken(robust).values()) == pytest.approx(0.01, abs=0.001)


def test_the_clutch_of_the_literature():
    clutch = example("clutch")
    assert clutch["angle"](**clutch["NOMINAL"]) == pytest.approx(7.0184, abs=1e-3)  # degrees
    # by an independent search over sizes and widths; what the script finds costs 5.50
    least = clutch["cheapest"]()
    assert least == pytest.approx(5.41, abs=0.05)
    found = {"hub": 0.031901, "roller": 0.016719, "cage": 0.044549}
    design = {"hub": 55.327, "roller": 22.870, "cage": 101.68}
    assert clutch["good"](design, found) >= 0.989
    assert least * 0.99 <= clutch["cost"](found) <= 1.03 * least
