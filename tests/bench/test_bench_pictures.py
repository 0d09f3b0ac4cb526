"""Figures, tables and the page: drawn from records alone, with the numbers of the records."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from bench_records import made_up
from examples import some
from meseta.acquisition.methods import names
from meseta.bench import timing
from meseta.bench.cost import cost_of, cost_paragraph
from meseta.bench.figures import convergence, draw_figures
from meseta.bench.gravity_picture import examples
from meseta.bench.markdown import markdown, regret_tables, scientific
from meseta.bench.pictures import draw, draw_gallery
from meseta.bench.plan import keep_plan, make_plan
from meseta.bench.records import append_run, failed
from meseta.bench.results_page import command, page, tables, write_page
from meseta.bench.schematic import draw_schematic, schematic
from meseta.bench.statistics import curve
from meseta.bench.style import STYLES, styles_of, title_of
from meseta.bench.timing import Timing, measure, take_timings, timings
from meseta.problems import flight, get

RANDOM = np.random.default_rng(3)
KILOBYTES = 5_000


def records_of(plan, length=8):
    """Every run of a plan, made up: the methods are better in the order in which they stand."""
    ladder = {label: 10.0**-k for k, label in enumerate(plan.methods)}
    return [
        replace(
            made_up(
                problem=job.problem,
                seed=job.seed,
                regret=np.geomspace(1, ladder[job.label] * RANDOM.uniform(0.5, 2), length),
            ),
            job=replace(job, evaluations=plan.evaluations),
        )
        for job in plan.jobs()
    ]


def a_plan(experiment, **choices):
    return make_plan(experiment, **{"runs": 3, "evaluations": 10, **choices})


def assert_drawn(paths, names):
    assert {path.name for path in paths} == {
        f"{n}.{kind}" for n in names for kind in ("png", "pdf")
    }
    assert all(path.stat().st_size > KILOBYTES for path in paths)


@pytest.mark.parametrize(
    ("experiment", "figures"),
    some(
        [
            ("within-model", ["regret"]),
            ("synthetic", ["regret", "distance"]),
            ("hartmann6", ["value", "regret"]),
            ("kappa", ["regret"]),
        ],
        2,
    ),
)
def test_every_experiment_has_its_figures(tmp_path, experiment, figures):
    problems = {"synthetic": ("sin-linear", "gmm"), "kappa": ("gmm",)}
    problems = problems.get(experiment, ())
    plan = a_plan(experiment, problems=problems, runs=2)
    paths = draw_figures(tmp_path, plan, records_of(plan))
    assert_drawn(paths, [f"{experiment},evaluations=10-{metric}" for metric in figures])


def test_gravity_has_its_map_and_trajectories(tmp_path, monkeypatch):
    monkeypatch.setattr(flight, "FINENESS", 2.0)  # rough lines, quickly
    plan = a_plan("gravity", methods=("rkg", "ei"))
    paths = draw_figures(tmp_path, plan, records_of(plan), resolution=12)
    assert_drawn(paths, [f"gravity,evaluations=10-{kind}" for kind in ("regret", "maneuver")])


def test_example_launches_show_why_the_lowest_cost_is_not_robust():
    nominal, nominal_off, robust, robust_off = (
        get("gravity").f([[launch.angle, launch.speed]])[0] for launch in examples(40)
    )
    assert nominal < robust < robust_off < nominal_off


def test_lines_are_the_medians_and_the_legend_comes_once():
    plan = a_plan("quick")
    records = records_of(plan)
    figure = convergence(plan, records, "regret")
    assert [axis.get_title() for axis in figure.axes] == [
        "Sin + Linear (1-dim.)",
        "Gaussian mixture (2-dim.)",
    ]
    for axis, problem in zip(figure.axes, plan.problems, strict=True):
        assert axis.get_yscale() == "log"
        assert axis.get_legend() is None
        for line, method in zip(axis.lines, plan.methods, strict=True):
            runs = [r for r in records if (r.job.problem, r.job.label) == (problem, method)]
            expected = curve(runs)
            np.testing.assert_allclose(line.get_ydata(), expected.median)
            np.testing.assert_allclose(line.get_xdata(), expected.evaluations)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "Robust KG",
        "NES-EP",
        "BO-UU EI",
        "Standard BO EI",
    ]


def test_without_complete_runs_nothing_is_drawn(tmp_path):
    plan = a_plan("quick")
    assert draw_figures(tmp_path, plan, [made_up(state="failed")]) == []
    assert draw(tmp_path, plan) == []


def test_every_method_has_a_look_of_its_own():
    assert set(STYLES) <= set(names())
    looks = styles_of(list(STYLES))
    assert len({(str(s.dashes), s.marker) for s in looks.values()}) == len(STYLES)  # in grey
    assert len({s.colour for s in looks.values()}) == len(STYLES)
    kappas = [f"unscented-ei:kappa={k}" for k in (0.0, 0.5, 1.5, 2.0)]
    mixed = styles_of(["rkg", "unscented-ei", *kappas])
    assert len(set(mixed.values())) == 6
    assert len(styles_of([f"nes-ep:num_max_values={k}" for k in range(2, 30)])) == 28


def test_titles_say_what_differs():
    labels = ["nes-ep", "nes-ep:num_max_values=10", "rkg"]
    assert [title_of(label, labels) for label in labels] == [
        "NES-EP, K = 1",
        "NES-EP, K = 10",
        "Robust KG",
    ]
    assert title_of("nes-ep") == "NES-EP"


def test_the_gallery_shows_one_two_and_more_dimensions(tmp_path):
    which = ["rkhs", "gmm", "hartmann3"]
    assert_drawn(draw_gallery(tmp_path, 12, which), [f"gallery-{name}" for name in which])


def test_the_schematic_shows_what_conditioning_does(tmp_path):
    shown = schematic(resolution=60)
    before, after = shown.g
    # g is at most g* afterwards: its mean sinks (by and large), its spread shrinks, f follows
    assert after.mean.mean() < before.mean.mean()
    assert (after.std <= before.std + 1e-9).all()
    assert (shown.f[1].std <= shown.f[0].std + 1e-9).all()
    assert (after.mean <= shown.g_star + 1e-9).all()
    nominal = shown.grid[shown.problem.f(shown.grid[:, None]).argmax()]
    assert abs(nominal - shown.problem.x_star[0]) > 0.2
    assert_drawn(draw_schematic(tmp_path), ["schematic"])


def filled_folder(folder):
    plan = a_plan("quick", runs=8, methods=("ei", "rkg", "nes-ep"))
    keep_plan(folder, plan)
    for record in records_of(plan):
        if (record.job.label, record.job.problem, record.job.seed) == ("ei", "gmm", 7):
            record = replace(record, state="failed", error="Traceback\nValueError: of sorts\n")
        append_run(folder, record)
    return plan


def test_the_page_has_the_numbers(tmp_path):
    plan = filled_folder(tmp_path)
    draw(tmp_path, plan)
    text = write_page(tmp_path).read_text(encoding="utf-8")
    assert "47 of 48 runs are complete" in text
    ei, rkg, nes = (
        [r for r in records_back(tmp_path, plan) if r.job.label == m and r.job.problem == "gmm"]
        for m in ("ei", "rkg", "nes-ep")
    )
    for runs in (ei, rkg, nes):
        complete = [r for r in runs if r.state == "complete"]
        assert scientific(np.median([r.regret[-1] for r in complete])) in text
    assert "of sorts" in text
    assert "1 runs failed" in text
    assert re.search(r"\| nes-ep +\| +1.00 \| +1.00 to 1.00 \|", text)
    assert "over 15 pairs of problem and seed" in text
    assert re.search(r"\| sin-linear +\| +ei \| .* 8/0/0 \| .* nes-ep is better \|", text)
    assert "48 records by meseta 0, torch 1" in text
    assert command(plan) in text
    for target in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (tmp_path / target).exists()
    assert text.count("![") == 2


def records_back(folder, plan):
    from meseta.bench.campaign import progress

    return progress(folder, plan).ended


def test_tables_for_the_terminal_and_another_reference(tmp_path):
    plan = filled_folder(tmp_path)
    text = "\n".join(tables(tmp_path, plan, "ei"))
    assert "regret by that of ei" in text
    assert "nothing to compare with sobol" in "\n".join(tables(tmp_path, plan, "sobol"))
    empty = a_plan("within-model")
    assert "No run is complete yet" in "\n".join(tables(tmp_path, empty))


def test_commands_lead_back_to_their_plan():
    usual = make_plan("synthetic")
    assert command(usual) == "meseta bench run synthetic"
    assert command(make_plan("max-values")) == "meseta bench run max-values"
    other = make_plan(
        "synthetic", methods=("ei", "nes-ep:num_max_values=3"), problems=("gmm",), runs=2
    )
    assert command(other) == (
        "meseta bench run synthetic --methods ei,nes-ep:num_max_values=3 --problems gmm --runs 2"
    )
    assert command(a_plan("quick", prior="paper")).endswith("--prior paper --evaluations 10")


def test_tables_are_aligned():
    assert markdown(["a", "bc"], [["long one", "1"], ["b", "23456"]]) == [
        "| a        |    bc |",
        "| -------- | ----: |",
        "| long one |     1 |",
        "| b        | 23456 |",
    ]


def test_medians_have_a_row_for_each_method_and_a_column_for_each_problem():
    """made_up starts with two points, so these four regrets end after five evaluations."""
    plan = a_plan("quick", methods=("ei", "rkg"))
    records = [
        made_up(problem, method, seed, [half, 1, 1, end])
        for problem, scale in (("sin-linear", 1.0), ("gmm", 100.0))
        for method, half, end in (("ei", 0.3, 0.02), ("rkg", 0.4, 0.0024 * scale))
        for seed in range(2 if (problem, method) == ("gmm", "ei") else 3)
    ]
    assert regret_tables(plan, records) == [
        "At the end (25th to 75th percentile), the lowest in bold. "
        "Runs of each method: 3 on sin-linear, 2 to 3 on gmm.",
        "",
        "| method |         sin-linear, 5 ev. |                gmm, 5 ev. |",
        "| ------ | ------------------------: | ------------------------: |",
        "| ei     |     2.0e-2 (2e-2 to 2e-2) | **2.0e-2** (2e-2 to 2e-2) |",
        "| rkg    | **2.4e-3** (2e-3 to 2e-3) |     2.4e-1 (2e-1 to 2e-1) |",
        "",
        "After half of the evaluations:",
        "",
        "| method | sin-linear, 2 ev. | gmm, 2 ev. |",
        "| ------ | ----------------: | ---------: |",
        "| ei     |        **3.0e-1** | **3.0e-1** |",
        "| rkg    |            4.0e-1 |     4.0e-1 |",
    ]
    same = [r for r in records if r.job.problem == "sin-linear"]
    assert "3 runs of each method on each problem." in regret_tables(plan, same)[0]


def test_short_numbers():
    assert [scientific(v) for v in (1.234e-4, 9.96e-11, 12.0, 0.0)] == [
        "1.2e-4",
        "1.0e-10",
        "1.2e1",
        "0.0e0",
    ]
    assert scientific(3.7e-5, 0) == "4e-5"


def test_the_cost_of_a_campaign():
    """made_up with 4 regrets: 4 fits of 0.2 s, 3 suggestions of 0.1, 4 recommendations of 0.05."""
    records = [made_up(method=m, regret=[1.0] * 4) for m in ("ei", "rkg", "sobol", "nes-ep")]
    records[1] = replace(records[1], seconds={**records[1].seconds, "suggest": np.full(3, 2.0)})
    broken = made_up(method="ei", regret=[1.0] * 4, state="failed")
    cost = cost_of([*records, broken, failed(broken.job, "lost")])
    assert cost.iterations == 15
    assert cost.by_part == pytest.approx({"fit": 4.0, "suggest": 7.2, "recommend": 1.0})
    assert cost.by_method == pytest.approx({"ei": 2.6, "rkg": 7.0, "sobol": 1.3, "nes-ep": 1.3})
    assert cost_paragraph([*records, broken]) == (
        "All 15 iterations together took 12 s of compute, 813 s for every 1000, evaluations of f "
        "left out: fit 33 %, suggest 59 %, recommend 8 %. "
        "Most of it went to rkg 57 %, ei 21 %, sobol 11 %."
    )
    assert "No iteration" in cost_paragraph([failed(broken.job, "lost")])


def test_timings_take_turns_and_are_not_repeated(tmp_path, monkeypatch):
    plan = make_plan("timing", methods=("ei", "sobol"), runs=2, evaluations=5)
    order, suggest = [], timing.steps

    def spy(job, trace):
        for _ in suggest(job, trace):
            order.append(job.method)
            yield

    monkeypatch.setattr(timing, "steps", spy)
    taken = list(take_timings(tmp_path, plan))
    assert order == ["ei", "sobol"] * (len(order) // 2)
    assert [t.seed for t in taken] == [0, 1]
    assert timings(tmp_path, plan) == taken
    assert list(take_timings(tmp_path, plan)) == []
    assert timings(tmp_path, make_plan("timing", methods=("ei",), runs=2, evaluations=5)) == []
    assert torch.get_num_threads() == 1


def test_the_table_of_times_has_means_and_ratios(tmp_path):
    plan = make_plan("timing", methods=("ei", "rkg"), runs=2, evaluations=5)
    keep_plan(tmp_path, plan)
    from meseta.bench.records import append_line

    for seed, (ei, rkg) in enumerate([(0.010, 0.020), (0.020, 0.060)]):
        seconds = {
            "ei": {"suggest": ei, "recommend": 0.0},
            "rkg": {"suggest": rkg / 2, "recommend": rkg / 2},
        }
        record = Timing("within-model", seed, "known", 5, seconds, {"torch": "1"})
        append_line(tmp_path / "timing.jsonl", record._asdict())
    text = "\n".join(page(tmp_path))
    assert re.search(r"Standard BO EI \| +15.0 \| +0.0 \| +15.0 \(7.1\) \| +1.00 \|", text)
    assert re.search(r"Robust KG +\| +20.0 \| +20.0 \| +40.0 \(28.3\) \| +2.50 \|", text)


def test_a_timing_is_the_mean_of_an_iteration():
    found = measure(("ei",), timing.Key("within-model", 0, "known", 5))
    assert set(found.seconds["ei"]) == {"suggest", "recommend"}
    assert 0 < timing.per_iteration(found, "ei") < 10
