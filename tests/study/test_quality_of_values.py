"""Values of different quality, experiments perturbed unseen, and confirmation: by study files."""

import csv
import io
import json
import math
import shutil

import optuna
import pytest

import meseta
from command_line import typed
from examples import some
from meseta.integrations.optuna import (
    EXECUTED,
    EXECUTION,
    PRECISION,
    RobustSampler,
    correct,
    recommend,
)
from meseta.study.answer import answer_of
from meseta.study.ledger import open_ledger
from meseta.study.toml.file import read_study

LAB = """
[study]
method = "sobol"
budget = 8
value = "strength"
outcomes = ["mass"]
kernel = "se"
[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
[parameters.y]
low = 0.0
high = 2.0
"""


@pytest.fixture
def lab(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml", "-n", 4)
    return folder


def exported(path="lab.toml"):
    return list(csv.DictReader(io.StringIO(typed("status", path, "--csv").stdout)))


def model(path="lab.toml"):
    return answer_of(open_ledger(read_study(path), reading=True)).optimizer


def test_what_is_said_about_values_is_kept_shown_and_taken_over(lab):
    typed("tell", "lab.toml", 0, "0.8", "mass=3", "--std", "0.1", "--std", "mass=0.2", "--n", 3)
    typed("tell", "lab.toml", 1, "-0.7", "--executed", "unseen")
    (lab / "more.csv").write_text(
        "trial;strength;std;n;executed\n2;0,9;0,05;4;\n3;0,85;;2;unseen\n"
    )
    typed("tell", "lab.toml", "--table", "more.csv")
    rows = exported()
    columns = ("value", "mass", "std", "std of mass", "n", "executed")
    assert [[row[name] for name in columns] for row in rows] == [
        ["0.8", "3.0", "0.1", "0.2", "3", ""],
        ["-0.7", "", "", "", "", "unseen"],
        ["0.9", "", "0.05", "", "4", ""],
        ["0.85", "", "", "", "2", "unseen"],
    ]
    trials = model().trials
    assert [(dict(t.std), t.n, t.unseen) for t in trials] == [
        ({"value": 0.1, "mass": 0.2}, 3, False),
        ({}, 1, True),
        ({"value": 0.05}, 4, False),
        ({}, 2, True),
    ]
    (lab / "other.toml").write_text(LAB)
    (lab / "rows.csv").write_text(typed("status", "lab.toml", "--csv").stdout)
    typed("import", "other.toml", "rows.csv")
    assert [row | {"trial": ""} for row in exported("other.toml")] == [
        row | {"trial": ""} for row in rows
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["0.8", "--n", "2.5"], "n must be a whole number"),
        (["0.8", "--n", "0"], "n must be at least 1"),
        (["0.8", "--std", "-1"], "must not be negative"),
        (["0.8", "--std", "mass=1"], "a std of 'mass', but no value of it"),
        (["0.8", "--std", "0.1", "--std", "0.2"], "--std is given twice"),
        (["0.8", "--std", "weight=0.1"], "there is no outcome 'weight'"),
        (["0.8", "--executed", "blind"], "executed must be 'known'"),
        (["--failed", "cracked", "--std", "0.1"], "a std of 'strength', but no value"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_stored(lab, words, says):
    done = typed("tell", "lab.toml", 0, *words, code=2)
    assert says in done.stderr
    assert [row["state"] for row in exported()] == ["asked"] * 4


def test_corrections_change_the_quality_alone(lab):
    typed("tell", "lab.toml", 0, "0.8", "--std", "0.1")
    typed("correct", "lab.toml", 0, "--n", 5, "--executed", "unseen", "--why", "five, in the oven")
    said = typed("status", "lab.toml").stdout
    assert "n 1 -> 5, executed none -> unseen: five, in the oven" in said
    (trial,) = model().trials[:1]
    assert (trial.value, dict(trial.std), trial.n, trial.unseen) == (0.8, {"value": 0.1}, 5, True)


@pytest.mark.parametrize("said", ["std,0.2", "std of mass,0.3", "n,3", "executed,known"])
def test_a_row_that_was_told_with_another_quality_is_refused(lab, said):
    (lab / "a.csv").write_text(
        "trial,strength,mass,std,n,executed\n0,0.8,1,0.1,2,unseen\n1,0.7,1,,,\n"
    )
    typed("tell", "lab.toml", "--table", "a.csv")
    assert "0 stored" in typed("tell", "lab.toml", "--table", "a.csv").stdout
    name, each = said.split(",")
    (lab / "b.csv").write_text(f"trial,strength,mass,{name}\n0,0.8,1,\n")
    assert "0 stored" in typed("tell", "lab.toml", "--table", "b.csv").stdout
    (lab / "b.csv").write_text(f"trial,strength,mass,{name}\n0,0.8,1,{each}\n")
    done = typed("tell", "lab.toml", "--table", "b.csv", code=2)
    assert "b.csv:2: trial 0 already has the value 0.8" in done.stderr
    assert "std = 0.1, n = 2, executed = unseen" in done.stderr


def test_a_standard_deviation_has_the_unit_of_its_value(lab):
    (lab / "lab.toml").write_text(LAB.replace("budget = 8", 'budget = 8\nunit = "MPa"'))
    (lab / "a.csv").write_text("trial,strength [MPa],std [kPa]\n0,0.8,100\n")
    done = typed("tell", "lab.toml", "--table", "a.csv", code=2)
    assert "'std [kPa]' is in 'kPa', but the unit of 'std' is 'MPa'" in done.stderr
    (lab / "a.csv").write_text("trial,strength [MPa],std [MPa]\n0,0.8,0.1\n")
    assert not typed("tell", "lab.toml", "--table", "a.csv").stderr


def test_what_is_known_after_all_is_put_right(lab):
    typed("tell", "lab.toml", 0, "0.8", "mass=1")
    (lab / "lab.toml").write_text(LAB.replace("budget = 8", 'budget = 8\nexecuted = "unseen"'))
    for number in (1, 2):
        typed("tell", "lab.toml", number, "0.7", "mass=1")
    assert [trial.unseen for trial in model().trials if trial.value] == [True] * 3
    # it was told before the file said so
    typed("correct", "lab.toml", 0, "--executed", "known", "--why", "done by hand")
    said = typed("correct", "lab.toml", 1, "--set", "x=0.31", "--why", "in the log").stdout
    assert "executed unseen -> known: in the log" in said
    typed("correct", "lab.toml", 2, "--set", "x=0.3", "--executed", "unseen", "--why", "it was set")
    read = [(trial.unseen, trial.measured) for trial in model().trials if trial.value]
    assert read == [(False, ()), (False, ("x",)), (True, ())]


def test_a_standard_deviation_of_what_failed_is_no_correction(lab):
    typed("tell", "lab.toml", 0, "--failed", "cracked")
    done = typed("correct", "lab.toml", 0, "--std", 0.1, "--n", 3, "--why", "x", code=2)
    assert "there is a std of 'strength', but no value of it" in done.stderr


def test_a_parameter_may_be_called_n(folder):
    (folder / "lab.toml").write_text(LAB.replace("[parameters.y]", "[parameters.n]"))
    typed("ask", "lab.toml")
    (folder / "r.csv").write_text("trial,n,strength,std\n0,1.5,0.8,0.1\n")
    typed("tell", "lab.toml", "--table", "r.csv")
    (trial,) = model().trials
    assert (trial.params["n"], trial.n, dict(trial.std)) == (1.5, 1, {"value": 0.1})


def test_what_the_file_says_about_unseen_noise_is_kept_with_each_trial(lab):
    typed("tell", "lab.toml", 0, "0.8")
    (lab / "lab.toml").write_text(LAB.replace("budget = 8", 'budget = 8\nexecuted = "unseen"'))
    typed("tell", "lab.toml", 1, "0.7")
    typed("tell", "lab.toml", 2, "0.9", "--set", "x=0.31")
    (lab / "lab.toml").write_text(LAB)
    assert [trial.unseen for trial in model().trials if trial.value] == [False, True, False]


def test_objectives_say_how_good_their_values_are(folder):
    (folder / "oven.py").write_text(
        "def f(p):\n"
        "    good = {'strength': p['x'], 'mass': 1.0, 'std': {'mass': 0.5}, 'n': 2}\n"
        "    return good if p['x'] > 0.5 else {'strength': p['x'], 'executed': 'unseen'}\n"
    )
    for timeout in ("", "timeout = 20\n"):
        path = f"lab{len(timeout)}.toml"
        (folder / path).write_text(f'{LAB}[objective]\npython = "oven:f"\n{timeout}')
        typed("run", path, "--trials", 4, "--quiet")
        for trial in model(path).trials:
            high = trial.params["x"] > 0.5
            assert trial.n == (2 if high else 1)
            assert dict(trial.std) == ({"mass": 0.5} if high else {})
            assert trial.unseen != high


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ('noise_variance = "much"', 'or "varies" if it depends on the design'),
        ("noise_variance = -1", "must be a variance, not negative"),
        ('executed = "blind"', "there is no value 'blind', only 'known', 'unseen'"),
    ],
)
def test_study_files_with_wrong_keys(folder, key, says):
    (folder / "lab.toml").write_text(LAB.replace("budget = 8", key))
    assert says in typed("ask", "lab.toml", code=2).stderr


def test_optuna_studies_say_it_by_attributes():
    noise = {"x": meseta.Normal(0.05)}
    study = optuna.create_study(
        direction="maximize", sampler=RobustSampler(noise=noise, seed=1, method="sobol")
    )

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr(PRECISION, [{"std": 0.1}, {"n": 4}, {"n": 0}, {}][trial.number])
        if trial.number == 3:
            trial.set_user_attr(EXECUTED, {"x": 0.4})
        if trial.number == 1:
            trial.set_user_attr(EXECUTION, "known")
        return x

    with pytest.warns(RuntimeWarning, match="what trial 2 says about its quality is left out"):
        study.optimize(objective, n_trials=4)
    found = recommend(study, noise=noise, executed="unseen")
    assert [(dict(t.std), t.n, t.unseen) for t in found.optimizer.trials] == [
        ({"value": 0.1}, 1, True),
        ({}, 4, False),
        ({}, 1, True),
        ({}, 1, False),
    ]
    assert "what trial 2 says about its quality is left out: n must be at least 1" in str(found)


def test_corrections_in_optuna_keep_a_standard_deviation_by_any_name():
    study = optuna.create_study(direction="maximize")
    study.add_trials(
        optuna.trial.create_trial(
            value=x,
            params={"x": x},
            distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
            user_attrs={PRECISION: {"std": {"strength": 0.1}}},
        )
        for x in (0.2, 0.6)
    )
    correct(study, 0, 0.3, why="typed")
    found = recommend(study, noise={"x": meseta.Normal(0.05)}, objective="strength")
    assert [dict(trial.std) for trial in found.optimizer.trials] == [{"value": 0.1}] * 2


PRESS = """
[study]
budget = 9
method = "sobol"
kernel = "se"
[parameters.x]
low = 0.0
high = 1.0
noise = 0.05
[parameters.t]
low = 0.0
high = 2.0
noise = { law = "normal", std = 0.1, mean = 1.0, environment = true }
[constraints.mass]
at_most = 2.0
[objective]
python = "press:f"
"""


@pytest.fixture(scope="module")
def pressed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("press")
    (folder / "press.toml").write_text(PRESS)
    (folder / "press.py").write_text(
        "import math\n"
        "def f(p):\n"
        "    return {'value': math.sin(4 * p['x']) + 0.2 * p['t'], 'mass': 1 + p['x']}\n"
    )
    typed("run", folder / "press.toml", "--quiet")
    return folder


@pytest.mark.parametrize("how", some(["--as-it-comes", None], 2))
def test_runs_confirm_a_design_or_do_not(pressed, folder, how):
    for each in pressed.iterdir():
        if each.is_file():
            shutil.copy(each, folder)
    options = [how] if how else []
    assert "no runs are planned yet" in typed("confirm", "press.toml", code=2).stderr
    planned = typed("confirm", "press.toml", "-n", 6, "--csv", *options)
    assert "promised: mean 1." in planned.stderr
    rows = list(csv.DictReader(io.StringIO(planned.stdout)))
    assert len({row["x"] for row in rows}) == (1 if how else 6)
    assert "0 of 6 runs gave a value" in typed("confirm", "press.toml", code=3).stderr
    shown = typed("status", "press.toml").stdout  # they are beside the budget
    assert "9 of 9 done, 6 runs to confirm" in shown
    assert "beside the budget: 9, 10, 11, 12, 13, 14" in shown
    text = ["trial,value,mass"]
    for i, row in enumerate(rows):
        x = float(row["x"]) + (0.05 * (-1) ** i if how else 0)
        t = float(row["t"]) if row.get("t") else 1.0
        text.append(f"{row['trial']},{math.sin(4 * x) + 0.2 * t},{1 + x}")
    (folder / "runs.csv").write_text("\n".join(text[:4]))
    typed("tell", "press.toml", "--table", "runs.csv")
    first = typed("confirm", "press.toml")
    assert "the promise held: 3 runs" in first.stdout
    assert "not told yet" in first.stderr
    (folder / "runs.csv").write_text("\n".join(text))
    typed("tell", "press.toml", "--table", "runs.csv")
    found = json.loads(typed("confirm", "press.toml", "--json").stdout)
    assert (found["held"], found["runs"], found["verdict"]) == (True, 6, "held")
    assert found["constraints"]["mass"]["kept"] == 6
    told = model("press.toml").trials[9:]
    assert [trial.unseen for trial in told] == [bool(how)] * 6
    # another plan whose runs are bad
    planned = typed("confirm", "press.toml", "-n", 4, "--json", *options)
    numbers = [run["trial"] for run in json.loads(planned.stdout)["runs"]]
    for number in numbers:
        typed("tell", "press.toml", number, "0.2", "mass=2.5", "--yes")
    bad = typed("confirm", "press.toml").stdout
    assert "the promise did not hold: 4 runs" in bad
    assert "worse than promised. If the model is right, 4 runs give" in bad
    assert "`meseta report press.toml` shows" in bad
    assert "mass: kept in 0 of 4 runs" in bad


def test_pending_runs_are_listed_where_they_are_set_also_beyond_the_range(folder):
    (folder / "lab.toml").write_text(
        '[study]\nmethod = "sobol"\nkernel = "se"\n'
        "[parameters.x]\nlow = 0\nhigh = 1\nnoise = 0.05\n"
    )
    (folder / "old.csv").write_text("x,value\n0,0\n0.3,0.3\n0.7,0.7\n1,1\n")
    typed("import", "lab.toml", "old.csv")
    planned = json.loads(typed("confirm", "lab.toml", "-n", 8, "--json").stdout)["runs"]
    assert max(run["params"]["x"] for run in planned) > 1
    listed = json.loads(typed("status", "lab.toml", "--json").stdout)["trials"]
    asked = [row for row in listed if row["state"] == "asked"]
    assert [row["params"] for row in asked] == [run["params"] for run in planned]


def test_nothing_can_be_confirmed_before_there_are_values(folder):
    (folder / "lab.toml").write_text(LAB)
    typed("ask", "lab.toml")
    done = typed("confirm", "lab.toml", "-n", 3, code=3)
    assert "there is no value yet to recommend by" in done.stderr


def test_runs_of_whole_numbers_and_of_what_was_read_off(folder):
    (folder / "lab.toml").write_text(
        '[study]\nmethod = "sobol"\nkernel = "se"\n'
        "[parameters.layers]\ntype = 'int'\nlow = 1\nhigh = 9\n"
        "noise = { law = 'discrete', values = [-1, 0, 1] }\n"
        "[parameters.x]\nlow = 0\nhigh = 1\nnoise = 0.05\n"
        "[parameters.folds]\ntype = 'int'\nlow = 1\nhigh = 9\nnoise = 0.3\n"
    )
    typed("ask", "lab.toml", "-n", 3)
    for number in range(3):
        typed("tell", "lab.toml", number, -number)
    runs = json.loads(typed("confirm", "lab.toml", "-n", 3, "--json").stdout)["runs"]
    assert all(isinstance(run["params"]["layers"], int) for run in runs)
    assert all(len(str(run["params"]["folds"])) <= 7 for run in runs)
    typed("confirm", "lab.toml", "-n", 3, "--as-it-comes")
    (folder / "a.csv").write_text("trial,x,value\n6,0.123,1\n7,,failed\n8,,failed\n")
    typed("tell", "lab.toml", "--table", "a.csv")
    trial = next(trial for trial in model().trials if trial.value == 1)
    assert (trial.unseen, trial.measured) == (False, ("x",))
    done = typed("confirm", "lab.toml", code=3).stderr
    assert "1 of 3 runs gave a value, which is too few to judge by; none is pending" in done


def test_small_values_on_a_logarithmic_scale_are_not_rounded_away(folder):
    (folder / "lab.toml").write_text(
        '[study]\nmethod = "sobol"\nkernel = "se"\n'
        "[parameters.dose]\nlow = 1e-7\nhigh = 1.0\nlog = true\nnoise = 1e-9\n"
    )
    typed("ask", "lab.toml", "-n", 3)
    doses = [float(row["dose"]) for row in exported()]
    for number, dose in enumerate(doses):
        typed("tell", "lab.toml", number, -math.log(dose))  # the smallest is the best
    planned = json.loads(typed("confirm", "lab.toml", "-n", 3, "--json").stdout)
    asked = [run["params"]["dose"] for run in planned["runs"]]
    assert planned["design"]["dose"] < 1e-3
    assert asked == pytest.approx([planned["design"]["dose"]] * 3, rel=0.05)
