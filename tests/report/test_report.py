"""Reports from a result, from a study, and from the command line."""

import json
import math

import optuna
import pytest

import meseta
from command_line import typed
from examples import thorough
from meseta.integrations.optuna import recommend
from meseta.report.views.wording import Terms, read_terms

NOISE = {"x": meseta.Normal(0.1)}


@pytest.fixture(scope="module")
def result():
    return meseta.minimize(
        lambda p: math.cos(5 * p["x"]), {"x": (0.0, 1.0)}, noise=NOISE, budget=6, progress=False
    )


def test_a_result_writes_its_report(result, tmp_path):
    words = {"value": "play", "unit": "um", "units": {"x": "mm"}, "at_most": 0.5}
    path = result.report(tmp_path / "report.html", **words)
    text = path.read_text(encoding="utf-8")
    assert "play" in text
    assert "um" in text
    assert f"{result.params['x']:.4g}" in text


def test_a_file_that_is_no_report_is_left_as_it_is(result, tmp_path):
    notes = tmp_path / "notes.html"
    notes.write_text("my notes")
    page = meseta.report.for_optimizer(result.optimizer)
    for write in (result.report, page.save):
        with pytest.raises(FileExistsError, match=r"is no report of meseta.*force=True"):
            write(notes)
    assert notes.read_text() == "my notes"
    assert "my notes" not in result.report(notes, force=True).read_text(encoding="utf-8")
    assert page.save(notes) == notes  # which is a report by now


def test_views_are_what_the_report_shows(result):
    made = result.views(unit="um")
    assert made.answer.robust.params == result.params
    assert made.answer.robust.mean == result.mean
    assert made.terms.unit == "um"
    page = meseta.report.for_optimizer(result.optimizer, unit="um")
    assert page.report == made
    assert repr(page) == "<report: Robust optimization, 6 evaluations>"
    assert page._repr_html_().startswith("<iframe")
    assert "<h1" not in page._repr_html_()  # all of it is in an attribute


def test_words_are_refused_by_name(result, tmp_path):
    for words, says in (
        ({"titel": "x"}, "did you mean 'title'"),
        ({"units": {"y": "mm"}}, "there is no parameter 'y'"),
        ({"unit": 3}, "unit must be a text"),
        ({"units": "mm"}, "units must be a dict"),
        ({"at_least": "much"}, "at_least must be a number"),
        ({"at_least": 2.0, "at_most": 1.0}, "must be less than at_most"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            result.report(tmp_path / "report.html", **words)
    assert not list(tmp_path.iterdir())
    assert read_terms({}) == Terms()


def test_yesterdays_study_has_a_report(tmp_path):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        study_name="yesterday", direction="maximize", sampler=optuna.samplers.RandomSampler(0)
    )
    study.optimize(lambda t: math.sin(5 * t.suggest_float("x", 0, 1)), n_trials=8)
    page = meseta.integrations.optuna.report(study, noise=NOISE, unit="N")
    best = recommend(study, noise=NOISE)
    assert page.report.answer.robust.params == best.params
    assert page.report.answer.robust.mean == best.mean
    assert page.report.terms.title == "yesterday"
    path = page.save(tmp_path / "report.html")
    assert "yesterday" in path.read_text(encoding="utf-8")


STUDY = """
[study]
name = "<b>press</b>"
value = "force"
unit = "N"
at_least = 0.5
notes = "</script><script>alert(1)</script>"

[parameters.shaft]
low = 0.0
high = 1.0
unit = "um"
noise = 0.1

[parameters.bore]
low = 0.0
high = 1.0
note = "of the <i>housing</i>"
"""


def test_the_command_writes_a_report_also_before_anything_has_finished(folder):
    (folder / "press.toml").write_text(STUDY, encoding="utf-8")
    typed("ask", "press.toml")
    said = typed("report", "press.toml").stdout
    assert "no trial has finished yet" in said
    assert "press.html is written" in said
    typed("tell", "press.toml", "0", "0.25")
    rows = "\n".join(f"{0.1 * i},{0.9 - 0.1 * i},{math.sin(0.3 * i)}" for i in range(8))
    (folder / "old.csv").write_text(f"shaft,bore,value\n{rows}\n", encoding="utf-8")
    typed("import", "press.toml", "old.csv")
    typed("report", "press.toml", "-o", "out.html")
    text = (folder / "out.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;press" in text
    assert "<script>alert" not in text
    assert "<i>housing" not in text
    told = json.loads(typed("report", "press.toml", "--json").stdout)
    best = json.loads(typed("recommend", "press.toml", "--json").stdout)
    assert told["answer"]["robust"]["params"] == best["recommendation"]["robust"]["params"]
    assert list(told["answer"]["robust"]["params"]) == ["shaft", "bore"]
    assert told["terms"]["units"] == {"shaft": "um"}
    assert told["complete"] == 9
    assert (
        "there is no folder"
        in typed("report", "press.toml", "-o", "nowhere/out.html", code=1).stderr
    )


def test_limits_in_a_study_file_are_refused_by_line(folder):
    wrong = STUDY.replace("at_least = 0.5", "at_least = 0.5\nat_most = 0.1")
    (folder / "press.toml").write_text(wrong, encoding="utf-8")
    said = typed("report", "press.toml", code=2).stderr
    assert "press.toml:7" in said
    assert "must be greater than at_least" in said


@thorough
def test_constraints_have_a_table_and_the_first_word():
    import math

    import meseta
    from meseta.report import page

    def beam(p):
        return {"weight": p["w"] * p["d"], "stress": math.log(600 / (p["w"] * p["d"] ** 2))}

    result = meseta.minimize(
        beam,
        {"w": (0.5, 3.0), "d": (2.0, 8.0)},
        noise={"w": meseta.Normal(0.05), "d": meseta.Normal(0.1)},
        objective="weight",
        constraints={"stress": meseta.AtMost(math.log(20), probability=0.99)},
        kernel="se",
        num_initial=12,
        budget=12,
        progress=False,
    )
    report = result.views()
    text = page.html(report)
    assert "How often constraints are kept in use" in text
    assert "at most 2.99573, in 99 % of the cases" in text
    assert "The design keeps all constraints as often as asked" in text
    assert "keeps stress in" in text
    assert "Better by" not in text
    assert any(finding.topic == "constraints" for finding in report.search.findings)
