"""`meseta tolerances` and `meseta window`, and the keys of study files behind them."""

import json

import pytest

from command_line import typed
from meseta.study.toml.file import StudyError, read_study

STUDY = """
[study]
value = "force"
unit = "N"
at_least = {at_least}
probability = 0.9
kernel = "se"
method = "sobol"

[objective]
python = "pressed:force"

[parameters.angle]
low = 0
high = 2
unit = "mm"
noise = 0.1
{cost}

[parameters.feed]
low = 0
high = 1

[parameters.heat]
low = 10
high = 30
noise = {{ law = "normal", std = 3, mean = 20, environment = true }}
"""
FORCE = """
def force(p):
    return 10 + p["angle"] - 0.5 * (p["angle"] - 1) ** 2 + 0.3 * p["feed"] + p["heat"] / 100
"""


def written(folder, cost='cost = "1 / width"\nwidth = [0.02, 0.3]', at_least="10.6", name="press"):
    (folder / "pressed.py").write_text(FORCE)
    path = folder / f"{name}.toml"
    path.write_text(STUDY.format(cost=cost, at_least=at_least), encoding="utf-8")
    return path


def test_tolerances_and_window_of_a_study(tmp_path):
    path = written(tmp_path)
    typed("ask", path)
    assert "no value yet" in typed("tolerances", path, code=3).output
    assert "no value yet" in typed("window", path, code=3).output
    typed("run", path, "--trials", "14", "--quiet")
    found = json.loads(typed("tolerances", path, "--json").stdout)
    each = {one["name"]: one for one in found["tolerances"]}
    assert each["heat"]["environment"]
    for one in each.values():
        assert 0 <= one["share_alone"]["value"] <= one["share_total"]["value"] <= 1
        kept, chosen = one["loosened"]["kept"], one["loosened"]["chosen"]
        assert 1 < kept <= chosen * 1.001
        assert one["verdict"].startswith("may grow to ")
    assert each["angle"]["unit"] == "mm"
    assert each["angle"]["half"]["unit"] == "N"
    assert 0.95 <= found["sure_today"] <= 1
    made = found["allocation"]
    assert made["met"] == "sure"
    assert made["today_cost"] == pytest.approx(10)
    assert made["tolerances"]["angle"]["today"] == pytest.approx(0.1)
    assert 0.02 <= made["tolerances"]["angle"]["width"] <= 0.3 + 1e-9
    window = json.loads(typed("window", path, "--json", "--probability", "0.95").stdout)
    assert window["found"]
    assert set(window["sides"]) == {"angle", "feed"}
    assert window["worst_kept"]["force"]["probability"] == 0.95
    for words, says in (
        (("--probability", "95"), "write 0.95"),
        (("--confidence", "2"), "confidence"),
    ):
        assert says in typed("window", path, *words, code=2).output
    # prices may change at any time: they are no part of the experiments
    written(tmp_path, 'cost = { "0.05" = 3, "0.1" = 2, "0.25" = 1 }')
    printed = typed("tolerances", path).output
    assert "heat" in printed
    assert "angle: may grow to std 0." in printed
    assert " mm (" in printed
    assert " N\n" in printed  # the unit of gains
    assert "the cheapest tolerances that meet the goal" in printed
    assert "0.25" in printed
    typed("report", path, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for title in (
        "How far tolerances may be loosened",
        "The cheapest tolerances",
        "Operating window",
        "Share of the variance, alone",
        "May grow to std 0.",
    ):
        assert title in page
    # without a goal, or a price
    no_goal = written(tmp_path, "", "-1e9")
    text = no_goal.read_text().replace("at_least = -1e9\nprobability = 0.9", "")
    no_goal.write_text(text)
    assert "there is no goal" in typed("tolerances", path).output
    assert "has no goal" in typed("window", path, code=2).output


def test_costs_in_a_report_for_programs(tmp_path):
    path = written(tmp_path)
    typed("ask", path)

    def of_angle():
        return json.loads(typed("report", path, "--json").stdout)["terms"]["prices"]["angle"]

    assert of_angle() == {"cost": "1 / width", "between": [0.02, 0.3]}  # a formula is its text
    written(tmp_path, 'cost = { "0.05" = 3, "0.1" = 2 }')
    assert of_angle() == {"cost": {"widths": [0.05, 0.1], "costs": [3, 2]}, "between": None}


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        ('cost = "12 * wdith"', "did you mean 'width'"),
        ("cost = 12", "must be a formula"),
        ('cost = { "0,1" = 3 }', "write '0.1'"),
        ("width = [0.1, 0.2]", "goes with cost"),
        ('cost = "1 / width"\nwidth = [0.2, 0.1]', "the lower one first"),
        ('cost = { "0.1" = 3 }\nwidth = [0.1, 0.2]', "drop width"),
    ],
)
def test_what_is_no_price_is_refused_with_its_line(tmp_path, cost, says):
    with pytest.raises(StudyError) as refused:
        read_study(written(tmp_path, cost))
    assert says in str(refused.value)
    assert "press.toml" in str(refused.value)


def test_prices_that_do_not_fit_the_noise_are_refused(tmp_path):
    path = written(tmp_path, 'cost = "12 * width"')
    assert "grows with the width" in typed("run", path, code=2).output
    path.write_text(path.read_text().replace("noise = 0.1\n", ""))
    assert "there is no noise" in typed("run", path, code=2).output
