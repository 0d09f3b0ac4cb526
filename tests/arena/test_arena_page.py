"""Campaigns, tables and the page of a tiny arena, by the command line."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from fake_entrants import entrant
from meseta.arena import keeper, match
from meseta.arena.entrants import Entrant, all_entrants, code_of
from meseta.arena.match import Rules
from meseta.arena.page import PAGE, check_reasons, page, read_reasons
from meseta.arena.plan import ArenaPlan, keep_plan, kept_plan, make_plan
from meseta.arena.record import ArenaRecord, Entry, lost
from meseta.arena.standings import defeats, losses, ranks, surest, too_few
from meseta.arena.tables import rank_tables
from meseta.bench.campaign import Progress, campaign, progress
from meseta.bench.records import Writing
from meseta.bench.style import styles_of
from meseta.bench.workers import processes
from meseta.cli import app
from pages import ROOT

LOW = "def recommend(self): return {'x': 0.0}"
BEST = "def recommend(self): return {'x': 0.3111187120990578}"


@pytest.fixture(autouse=True)
def _quick_rule(monkeypatch):
    monkeypatch.setattr(match, "common_rule", lambda problem, x, values, seed: x[0])


@pytest.fixture
def entrants(tmp_path):
    folder = tmp_path / "entrants"
    folder.mkdir()
    entrant(folder, "meseta-rkg", method=LOW)
    entrant(folder, "best", method=BEST)
    entrant(folder, "broken", method="def ask(self): 1 / 0")
    entrant(folder, "absent", python=".venv-absent/bin/python")
    (folder / "_shared.py").write_text("")
    return folder


def run(*words):
    result = CliRunner().invoke(app, ["arena", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def plan_of(folder, runs=2):
    return make_plan(all_entrants(folder), problems=("sin-linear",), runs=runs, evaluations=4)


def test_a_campaign_goes_on_where_it_stopped(tmp_path, entrants):
    plan, rules = plan_of(entrants), Rules(entrants)
    assert [(job.seed, job.entrant) for job in plan.jobs()] == [
        (seed, name) for seed in (0, 1) for name in ("best", "broken", "meseta-rkg")
    ]
    played = []

    def play(job):
        played.append(job)
        return rules.play(job)

    first = campaign(tmp_path / "out", plan, processes(1, play))
    next(first)
    next(first)
    first.close()  # killed
    torn = tmp_path / "out" / "runs" / "sin-linear" / "best.jsonl"
    torn.write_bytes(torn.read_bytes() + b'{"problem": "sin-li')
    rest = list(campaign(tmp_path / "out", plan, processes(1, play)))
    assert len(rest) == 4
    assert sorted(map(hash, played)) == sorted(map(hash, plan.jobs()))
    now = progress(tmp_path / "out", plan)
    assert (len(now.complete), len(now.failed), len(now.missing)) == (4, 2, 0)
    assert not list(campaign(tmp_path / "out", plan, processes(1, play)))
    more = plan_of(entrants, runs=3)
    assert not list(campaign(tmp_path / "out", more, processes(1, play), within_seconds=0))


def test_from_the_runs_to_the_page(tmp_path, entrants):
    out = tmp_path / "out"
    said = run("list", "--entrants-from", entrants)
    assert "It does not play: its environment .venv-absent/bin/python is not there" in said
    words = ["--problems", "sin-linear", "--runs", 1, "--evaluations", 4]
    said = run("run", *words, "--entrants-from", entrants, "--output", out)
    assert "2 of 3 complete, 1 failed" in said
    table = run("table", "--output", out)
    assert "| broken" in table
    assert "1 of 1" in table
    assert "ZeroDivisionError" in table
    run("page", "--output", out)
    text = (out / "README.md").read_text()
    assert text.index("Where Meseta loses") < text.index("## The rules")
    assert "it can show no difference" in text
    assert "On 1 of 1 problems another entrant ends with a lower regret" in text
    assert "| 1 of 1 run |" in text.replace("  ", " ").replace("  ", " ")
    assert "](enter.md)" not in text  # it is not in this folder
    assert "The reasons are not written yet." in text
    assert (
        "- **absent**: Fake (mean, risk, constraints). none. It does not play: its environment"
        in text
    )
    for name in ("mean-evaluations", "mean-evaluations-common", "mean-seconds"):
        assert f"](figures/{name}.svg)" in text
        assert "<svg" in (out / "figures" / f"{name}.svg").read_text()
    assert (out / "runs" / "sin-linear" / "best.jsonl.gz").exists()  # small enough to be kept
    (out / "reasons.md").write_text("# Reasons\n\n## `sin-linear`\n\nIt is a fake.\n")
    run("page", "--no-figures", "--output", out)
    assert "**sin-linear.** It is a fake." in (out / "README.md").read_text()
    (out / "reasons.md").write_text("## gmm\n\nNot lost.\n")
    result = CliRunner().invoke(app, ["arena", "page", "--no-figures", "--output", str(out)])
    assert result.exit_code == 1
    assert "lacks sin-linear, and has gmm too many" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--entrants", "nobody"], "nobody"),
        (["--problems", "nothing"], "nothing"),
        (["--board", "nowhere"], "nowhere"),
        (["--evaluations", "1", "--problems", "gmm"], "need at least as many"),
        (["--entrants", "absent"], "none of these entrants plays"),
        (["--dask", "tcp://x", "--within-seconds", "5"], "leave --within-seconds out"),
        (["--run-seconds", "inf"], "--run-seconds must be above 0 and finite"),
        (["--run-seconds", "nan"], "--run-seconds must be above 0 and finite"),
        (["--step-seconds", "0"], "--step-seconds must be above 0 and finite"),
        (["--entrants", ""], "an empty name"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_stored(tmp_path, entrants, words, said):
    out = tmp_path / "out"
    words = ["arena", "run", *words, "--entrants-from", str(entrants), "--output", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert said in result.output
    assert not out.exists()


def test_a_page_of_something_else_is_left_as_it_is(tmp_path):
    (tmp_path / "README.md").write_text("# Mine\n")
    result = CliRunner().invoke(app, ["arena", "page", "--output", str(tmp_path)])
    assert result.exit_code == 1
    assert (tmp_path / "README.md").read_text() == "# Mine\n"


def test_plans_add_up(tmp_path, entrants):
    known = all_entrants(entrants)
    one = make_plan({"best": known["best"]}, problems=("gmm",), runs=3)
    two = make_plan({"broken": known["broken"]}, problems=("sin-linear",), runs=2)
    keep_plan(tmp_path, one)
    both = keep_plan(tmp_path, two)
    assert both == kept_plan(tmp_path)
    assert both.problems == ("sin-linear", "gmm")
    assert [each.name for each in both.entrants] == ["best", "broken"]
    assert both.runs == 3


def test_who_has_played_stays_where_its_environment_is_not(tmp_path, entrants):
    known = all_entrants(entrants)
    keep_plan(tmp_path, make_plan({"best": known["best"]}, problems=("gmm",), runs=1))
    lost_it = replace(known["best"], why_not="its environment is not there", boards=("risk",))
    now = keep_plan(tmp_path, ArenaPlan(("gmm",), (lost_it,), 1))
    assert now.entrants == (known["best"],)
    absent = make_plan(known, problems=("gmm",), runs=1)
    assert "is not there" in keep_plan(tmp_path, absent).entrants[0].why_not


def test_another_number_of_evaluations_needs_another_folder(tmp_path, entrants):
    keep_plan(tmp_path, plan_of(entrants))
    with pytest.raises(ValueError, match="name another folder"):
        keep_plan(tmp_path, make_plan(all_entrants(entrants), problems=("gmm",)))


def test_who_may_not_write_changes_no_plan(tmp_path, entrants):
    out = tmp_path / "out"
    words = ["arena", "run", "--problems", "gmm", "--entrants-from", str(entrants)]
    with Writing(out):
        result = CliRunner().invoke(app, [*words, "--output", str(out)])
    assert "another process writes" in result.output
    assert not (out / "plans").exists()


def test_a_changed_file_is_said_to_have_changed(tmp_path, entrants):
    words = ["--problems", "sin-linear", "--runs", 1, "--evaluations", 4, "--entrants", "best"]
    words += ["--entrants-from", entrants, "--output", tmp_path / "out"]
    assert "has changed" not in run("run", *words)
    assert "has changed" not in run("run", *words)
    entrant(entrants, "best", method=LOW)
    assert "best has changed since 1 of its runs, which are not repeated" in run("run", *words)


def test_a_mark_is_that_of_the_file_and_of_all_that_it_shares(tmp_path):
    file = tmp_path / "one.py"
    file.write_text("import _a\nimport _missing\nimport math\n")
    alone = code_of(file)
    (tmp_path / "_b.py").write_text("from _a import one\n")
    (tmp_path / "_other.py").write_text("")
    assert code_of(file) == alone
    (tmp_path / "_a.py").write_text("from _b import two\n")
    both = code_of(file)
    (tmp_path / "_other.py").write_text("1")
    assert code_of(file) == both != alone
    (tmp_path / "_b.py").write_text("two = 2\n")
    assert code_of(file) not in (alone, both)
    file.write_text("import package.part\nfrom beside import thing\n")
    (tmp_path / "package" / "deep").mkdir(parents=True)
    found = {code_of(file)}
    for name in ("package/__init__.py", "package/deep/part.py", "beside.py"):
        (tmp_path / name).write_text("1\n")
        found.add(code_of(file))
    assert len(found) == 4
    file.write_text("it is no Python")
    assert code_of(file) not in {alone, both, *found}


DAMAGES = [
    {"seconds": []},
    {"worst": None},
    {"own": ["a"]},
    {"own": [1.0] * 50},
    {"common": 1.0},
    {"checkpoints": None},
]


def test_damaged_files_are_named(tmp_path, entrants):
    words = ["--problems", "sin-linear", "--runs", 1, "--evaluations", 4, "--entrants", "best"]
    run("run", *words, "--entrants-from", entrants, "--output", tmp_path)
    path = tmp_path / "runs" / "sin-linear" / "best.jsonl"
    good = path.read_text()
    damaged = ["{}", *(json.dumps({**json.loads(good), **each}) for each in DAMAGES)]
    for text in damaged:
        path.write_text(good + text + "\n")
        result = CliRunner().invoke(app, ["arena", "table", "--output", str(tmp_path)])
        assert result.exit_code == 1
        assert "line 2 of" in result.output
        assert "best.jsonl is no record of a run" in " ".join(result.output.split())
    (plan,) = (tmp_path / "plans").glob("*.json")
    for text in ("{", "{}", plan.read_text().replace("sin-linear", "gone")):
        plan.write_text(text)
        result = CliRunner().invoke(app, ["arena", "table", "--output", str(tmp_path)])
        assert plan.name in "".join(result.output.split("\n"))


def made_up(entrant, seed, regret, problem="gmm", state="complete", common=None):
    none = lost(Entry(problem, entrant, seed, 20), "made up").to_json()
    found = [] if regret is None else [regret, regret]
    by_rule = {"own": found, "common": found if common is None else [common, common]}
    return ArenaRecord.from_json({**none, **by_rule, "state": state})


def plan_of_names(*names):
    entrants = tuple(Entrant(name, "Made up", "none", ("mean",), None, "") for name in names)
    return ArenaPlan(("gmm",), entrants, 6)


def test_failed_runs_count_in_the_ranks():
    records = [made_up("ours", s, 1e-3) for s in range(4)]
    records += [made_up("other", s, 1e-4) for s in range(2)]
    records += [made_up("other", s, None, state="failed") for s in (2, 3)]
    found = {rank.method: rank for rank in ranks(records, "own", [])}
    assert found["ours"].mean == found["other"].mean == 1.5
    assert found["ours"].cells == 4


def test_those_with_few_runs_are_ranked_apart():
    records = [made_up(name, s, 1e-3) for name in ("meseta-rkg", "other") for s in range(6)]
    records += [made_up("slow", s, 1e-9) for s in range(2)]
    assert too_few(records) == ["slow"]
    assert {rank.method: rank.cells for rank in ranks(records, "own", ["slow"])} == {
        "meseta-rkg": 6,
        "other": 6,
    }
    lines = rank_tables(records)
    assert "With slow, which has fewer runs:" in lines
    assert "over 2 pairs" in lines[-1]
    elsewhere = [
        made_up(name, 0, 1.0, problem)
        for problem in ("rkhs", "hartmann3")
        for name in ("meseta-rkg", "other")
    ]
    assert rank_tables(records + elsewhere[:2])[-1].count("over 2 pairs of a problem, of 1,") == 1
    assert rank_tables(records + elsewhere)[-1] == "Too few runs to be ranked: slow."


def test_losses_to_those_with_few_runs_are_named_apart(tmp_path):
    records = [made_up(name, s, 1e-3) for name in ("meseta-rkg", "other") for s in range(6)]
    records += [made_up("slow", s, 1e-9) for s in range(2)]
    plan = plan_of_names("meseta-rkg", "other", "slow")
    text = "\n".join(page(tmp_path, plan, Progress(records, [], [])))
    assert "On none of 1 problems does another end lower" in text
    assert "slow on `gmm` (2 of 2 runs, 1e+06 times as low)" in text


def test_one_that_plays_on_one_board_has_all_the_runs_it_can_have():
    risk, mean = "sin-linear-cvar", ("gmm", "rkhs", "hartmann3")
    records = [made_up("meseta-rkg", s, 1e-3, p) for s in range(6) for p in (*mean, risk)]
    records += [made_up("other", s, 1e-2, p) for s in range(6) for p in (*mean, risk)]
    records += [made_up("risky", s, 1e-5, risk) for s in range(6)]
    (loss,), luck = defeats(records)
    assert (loss.problem, loss.first, luck) == (risk, "risky", [])


def test_defeats_by_the_common_rule_are_named_where_own_ones_do_not_show_them(tmp_path):
    """Another whose own recommendations are poor, and whose experiments are good."""
    records = [made_up("meseta-rkg", s, 1e-3, p) for s in range(6) for p in ("gmm", "rkhs")]
    records += [made_up("other", s, 1e-2, common=5e-4) for s in range(6)]
    records += [made_up("other", s, 1e-4, "rkhs") for s in range(6)]
    found, luck = defeats(records, "common")
    assert ([(loss.problem, loss.first) for loss in found], luck) == ([("gmm", "other")], [])
    plan = replace(plan_of_names("meseta-rkg", "other"), problems=("gmm", "rkhs"))
    text = "\n".join(page(tmp_path, plan, Progress(records, [], [])))
    assert "lower, too: other on `gmm` (6 of 6 runs, 2 times as low)." in text


def test_of_several_rivals_the_surest_is_named():
    """One is lower in all runs, another ten times lower in little more than half of them."""
    records = [made_up("meseta-rkg", s, 1e-3) for s in range(20)]
    records += [made_up("steady", s, 5e-4 * (1 + s / 100)) for s in range(20)]
    records += [made_up("lucky", s, 1e-4 if s < 11 else 2e-3) for s in range(20)]
    assert [loss.first for loss in losses(records)] == ["lucky", "steady"]
    ((loss,), _) = defeats(records)
    assert (loss.first, loss.by.better) == ("steady", "steady")


def test_how_many_runs_a_difference_takes_counts_all_comparisons(tmp_path):
    names = ["meseta-rkg", *(f"rival{i}" for i in range(9))]
    records = [made_up(name, s, 1e-3 + (name != "meseta-rkg")) for name in names for s in range(6)]
    text = "\n".join(page(tmp_path, plan_of_names(*names), Progress(records, [], [])))
    assert "corrected for all 9 comparisons, so that with fewer than 9 runs" in text
    assert "none is claimed there: all on the board mean." in text


def test_six_runs_against_twenty_are_no_luck():
    records = [made_up("meseta-rkg", s, 1e-3) for s in range(20)]
    records += [made_up("slow", s, 1e-4) for s in range(6)]
    records += [made_up("slower", s, 1e-6) for s in range(5)]
    (loss,), (luck,) = defeats(records)
    assert (loss.first, luck.first) == ("slow", "slower")


def test_without_another_nothing_is_said_about_others(tmp_path):
    records = [made_up("meseta-rkg", 0, 1e-3), made_up("other", 1, 1e-4)]
    plan = plan_of_names("meseta-rkg", "other")
    assert "has not met another entrant yet" in "\n".join(
        page(tmp_path, plan, Progress(records, [], []))
    )


def test_the_greatest_defeat_comes_first():
    records = []
    for problem, ours, theirs in (("gmm", 2e-3, 1e-3), ("rkhs", 1e-1, 1e-3), ("hartmann3", 0, 1)):
        records += [made_up("meseta-rkg", 0, ours, problem), made_up("other", 0, theirs, problem)]
    records += [made_up("third", 0, 1.9e-3, "gmm")]
    found = losses(records)
    assert [(loss.problem, loss.first) for loss in found] == [
        ("rkhs", "other"),
        ("gmm", "other"),
        ("gmm", "third"),
    ]
    assert surest(found) == found[:2]
    assert found[0].times == pytest.approx(100)
    assert (found[0].ours, found[0].theirs) == (1e-1, 1e-3)


def test_a_defeat_is_of_pairs_with_the_same_seed():
    """The other is lower in four of six pairs, and higher in the median of all."""
    ours = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    theirs = [0.5, 1.0, 1.5, 2.0, 50.0, 60.0]
    records = [made_up("meseta-rkg", s, y) for s, y in enumerate(ours)]
    records += [made_up("other", s, y) for s, y in enumerate(theirs)]
    records += [made_up("other", s, 1e-6) for s in (6, 7)]  # ours have not been played
    (loss,) = losses(records)
    assert (loss.by.losses, loss.by.pairs) == (4, 6)
    assert loss.times == pytest.approx(2)
    assert (loss.ours, loss.theirs) == (3.5, 1.75)


def test_reasons_are_read_by_their_headings(tmp_path):
    path = tmp_path / "reasons.md"
    assert read_reasons(path) == {}
    path.write_text("# Why\n\nAside.\n\n## gmm\n\nOne.\nTwo.\n\n## `rkhs`\n")
    assert read_reasons(path) == {"gmm": "One.\nTwo.", "rkhs": ""}
    records = [
        made_up(name, 0, regret, problem)
        for problem in ("gmm", "rkhs")
        for name, regret in (("meseta-rkg", 1.0), ("other", 0.5))
    ]
    with pytest.raises(ValueError, match="lacks rkhs"):
        check_reasons(tmp_path, losses(records))


def test_records_are_json_without_nan(tmp_path):
    record = lost(Entry("gmm", "fake", 0, 6), "gone")
    assert json.dumps(record.to_json(), allow_nan=False)


def test_the_published_page_is_written_from_its_records():
    folder = ROOT / "docs" / "arena"
    plan = kept_plan(folder)
    written = "\n".join(page(folder, plan, progress(folder, plan))) + "\n"
    assert (folder / PAGE).read_text(encoding="utf-8") == written


def test_many_entrants_look_different():
    names = [f"entrant {number}" for number in range(20)] + ["sobol"]
    looks = styles_of(names)
    assert len({str(looks[name]) for name in names}) == len(names)


@pytest.mark.parametrize("adopts", [True, False])
def test_a_system_that_does_not_adopt_orphans_is_said_to(tmp_path, entrants, monkeypatch, adopts):
    monkeypatch.setattr(keeper, "can_adopt", lambda: adopts)
    words = ["--problems", "sin-linear", "--runs", 1, "--evaluations", 3, "--entrants", "best"]
    said = run("run", *words, "--entrants-from", entrants, "--output", tmp_path / "out")
    assert ("may go on after its run" in said) == (not adopts)
