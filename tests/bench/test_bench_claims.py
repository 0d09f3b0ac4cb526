"""The paper's claims, against records made up so that one knows what they say."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from bench_records import made_up
from meseta.bench.claims import BASELINES, CLAIMS, NES, claim_section, findings, held
from meseta.bench.experiments import EXPERIMENTS, SYNTHETIC
from meseta.bench.plan import keep_plan, make_plan
from meseta.bench.records import append_run
from meseta.bench.results_page import page
from meseta.bench.verdicts import (
    advantage_grows,
    alike,
    best_designs,
    best_setting,
    close,
    far_below,
    outperform,
    stagnates,
    unbeaten,
)
from meseta.cli import app

SEEDS = 12  # all wins: p = 2^-11, which 100 comparisons leave below 0.05
DIMENSIONS = {"sin-linear": 1, "rkhs": 1, "gmm": 2, "polynomial": 2, "hartmann3": 3}
OPEN = "not enough runs yet"


def runs(problem, method, final, half=1.0, seeds=SEEDS):
    """Runs with these regrets half way and at the end, in two dimensions unless known otherwise.

    `final` is a number for all seeds, or one for each; a little noise breaks ties, which are slow.
    """
    noise = np.random.default_rng(list(method.encode())).uniform(size=seeds)
    finals = np.broadcast_to(final, seeds) * (1 + 1e-6 * noise)
    return [
        made_up(problem, method, seed, [half, 1, 1, end], dimension=DIMENSIONS.get(problem, 2))
        for seed, end in enumerate(finals)
    ]


def field(problem, **finals):
    """One problem; uu_ei=0.1 for a method called uu-ei."""
    return [r for name, end in finals.items() for r in runs(problem, name.replace("_", "-"), end)]


# Six far above and six just below: twice the median, yet W = 21 of 78 and p = 0.18.
MIXED = np.where(np.arange(SEEDS) % 2, 3.1, 0.9)


def claim_on(text):
    (claim,) = (claim for claim in CLAIMS if text in claim.text)
    return claim


def judged(judge, records, **settings):
    verdict, figures = judge(records, **settings)
    assert figures.endswith(".")
    return verdict, figures


def test_outperforming_is_lower_and_shown_for_both_variants():
    good = field("gmm", nes_ep=1e-4, nes_rs=2e-4, uu_ei=1e-3, ei=1e-2)
    verdict, figures = judged(outperform, good, ours=NES)
    assert verdict == "yes"
    assert "gmm 1.0e-4 nes-ep, 2.0e-4 nes-rs, 1.0e-3 uu-ei" in figures
    assert "4 of 4 differences are shown" in figures
    mixed = field("gmm", nes_ep=1e-4, nes_rs=1e-4, uu_ei=1e-4 * MIXED, ei=1e-2)
    verdict, figures = judged(outperform, mixed, ours=NES)
    assert verdict == "partly"
    assert "2 of 4 differences are shown" in figures
    assert (
        "Higher, but that is not shown: uu-ei on gmm (2.0e-4 against 1.0e-4 of nes-ep)" in figures
    )
    # one variant, one baseline, one problem is enough to refute it
    bad = field("rkhs", nes_ep=1e-4, nes_rs=2e-3, uu_ei=1e-3, ei=1e-2)
    verdict, figures = judged(outperform, [*good, *bad], ours=NES)
    assert verdict == "no"
    assert "7 of 8 differences are shown" in figures
    assert "Lower: uu-ei on rkhs (1.0e-3 against 2.0e-3 of nes-rs)." in figures


def test_nothing_else_is_better():
    good = field("gmm", nes_ep=1e-4, rkg=2e-4, sobol=1e-2)
    assert judged(unbeaten, good, ours="nes-ep")[0] == "yes"
    lower = [*good, *field("rkhs", nes_ep=1e-4 * MIXED, rkg=1e-4)]
    verdict, figures = judged(unbeaten, lower, ours="nes-ep")
    assert verdict == "partly"
    assert "Lower, but that is not shown: rkg on rkhs (1.0e-4 against 2.0e-4 of nes-ep)" in figures
    better = [*lower, *field("polynomial", nes_ep=1e-4, sobol=1e-5)]
    verdict, figures = judged(unbeaten, better, ours="nes-ep")
    assert verdict == "no"
    assert "Shown better: sobol on polynomial (1.0e-5 against 1.0e-4 of nes-ep)." in figures


def test_close_is_no_difference_shown():
    equal = field("gmm", nes_ep=1e-4, nes_rs=1e-4 * MIXED)
    verdict, figures = judged(close, equal, reference="nes-ep")
    assert verdict == "yes"
    assert "nes-rs by that of nes-ep: gmm 2 (p 0.18)" in figures
    differ = field("rkhs", nes_ep=1e-4, nes_rs=3e-4)
    verdict, figures = judged(close, [*equal, *differ], reference="nes-ep")
    assert verdict == "partly"
    assert "rkhs 3 (p 0.00098)" in figures  # 2^-11, two comparisons
    assert "Shown: nes-ep is better on rkhs." in figures
    assert judged(close, differ, reference="nes-ep")[0] == "no"


def test_settings_are_alike_or_one_is_best():
    def settings(problem, one, three):
        return [
            *runs(problem, "nes-ep", one),
            *runs(problem, "nes-ep:num_max_values=3", three),
        ]

    equal, worse, better = (
        settings("gmm", 1e-4, 1e-4 * MIXED),
        settings("rkhs", 1e-4, 2e-4),
        settings("polynomial", 1e-4, 5e-5),
    )
    verdict, figures = judged(alike, equal, reference="nes-ep")
    assert verdict == "yes"
    assert "Final regret for K = 1, K = 3: gmm 1.0e-4, 2.0e-4 (lowest: K = 1)" in figures
    verdict, figures = judged(alike, [*equal, *worse], reference="nes-ep")
    assert verdict == "partly"
    assert "Shown: K = 1 better than K = 3 on rkhs." in figures
    assert judged(alike, worse, reference="nes-ep")[0] == "no"
    # the best may well differ from the others
    verdict, figures = judged(best_setting, [*equal, *worse], reference="nes-ep")
    assert verdict == "yes"
    assert "Shown: nothing." in figures
    verdict, figures = judged(best_setting, [*equal, *better], reference="nes-ep")
    assert verdict == "partly"
    assert "polynomial 1.0e-4, 5.0e-5 (lowest: K = 3)" in figures
    assert "Shown: K = 3 better than K = 1 on polynomial." in figures


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ((2, 8, 10, 10, 30), "yes"),  # 4, 10, 30
        ((2, 8, 10, 50, 10), "partly"),  # 4, 22, 10
        ((20, 80, 10, 10, 30), "no"),  # 40, 10, 30
        ((0.1, 0.1, 0.2, 0.2, 0.9), "no"),  # grows, but is no advantage
    ],
)
def test_the_advantage_by_dimension(factors, verdict):
    records = [
        r
        for problem, factor in zip(SYNTHETIC, factors, strict=True)
        for r in field(problem, nes_ep=1e-5, ei=factor * 1e-5, uu_ei=100 * factor * 1e-5)
    ]
    found, figures = judged(advantage_grows, records, ours="nes-ep")
    assert found == verdict
    first = (factors[0] * factors[1]) ** 0.5
    assert f"{first:.3g} in 1 dim. (sin-linear {factors[0]:.3g}, rkhs {factors[1]:.3g})" in figures


def test_stagnation_is_of_the_one_and_not_of_the_other():
    def both(problem, ei, nes):
        return [
            *runs(problem, "ei", 0.1, half=0.1 * ei),
            *runs(problem, "nes-ep", 1e-3, half=1e-3 * nes),
        ]

    holds = both("gmm", 1.5, 40)
    verdict, figures = judged(stagnates, holds, who="ei", beside="nes-ep")
    assert verdict == "yes"
    assert "gmm 1.5 and 40" in figures
    both_stall, both_fall = both("rkhs", 1.5, 1.9), both("sin-linear", 10, 20)
    for other in (both_stall, both_fall):
        assert judged(stagnates, [*holds, *other], who="ei", beside="nes-ep")[0] == "partly"
        assert judged(stagnates, other, who="ei", beside="nes-ep")[0] == "no"


@pytest.mark.parametrize(("factor", "verdict"), [(60, "yes"), (40, "partly"), (4, "no")])
def test_orders_of_magnitude(factor, verdict):
    records = field("gravity", nes_ep=1e-3, ei=factor * 1e-3)
    found, figures = judged(far_below, records, ours="nes-ep", theirs="ei")
    assert found == verdict
    assert f"a factor of {factor}" in figures


def test_the_best_designs_have_the_highest_g():
    records = field("hartmann6", nes_ep=0.1, uu_ei=0.2, ei=0.5)
    verdict, figures = judged(best_designs, records, ours="nes-ep")
    assert verdict == "yes"
    assert figures.startswith("g at the end: nes-ep 0.9, uu-ei 0.8, ei 0.5. ")
    worse = field("hartmann6", nes_ep=0.1, uu_ei=0.05)
    assert judged(best_designs, worse, ours="nes-ep")[0] == "no"


def test_regrets_that_are_rounding_are_equal():
    records = field("gmm", nes_ep=1e-13, ei=1e-15)
    assert judged(unbeaten, records, ours="nes-ep")[0] == "yes"
    assert judged(far_below, records, ours="nes-ep", theirs="ei")[0] == "no"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text[:30])
def test_claims_are_about_what_the_experiments_have(claim):
    needs = claim.needs()
    known = {p for name in claim.experiments for p in EXPERIMENTS[name].problems}
    assert set(needs) == set(claim.problems or known)
    assert set(claim.problems) <= known
    assert all(len(methods) > 1 for methods in needs.values())
    # every claim can be judged with what its experiments bring, and not with less
    records = [r for p, methods in needs.items() for m in methods for r in runs(p, m, 1e-3)]
    verdict, figures = held(claim, records)
    assert verdict != OPEN
    assert figures.endswith(f"{SEEDS} runs of each method.")
    problem, methods = next(reversed(needs.items()))
    absent = [r for r in records if (r.job.problem, r.job.label) != (problem, methods[-1])]
    verdict, figures = held(claim, absent)
    assert verdict == OPEN
    assert f"needed: {problem} 0." in figures
    assert ("Elsewhere: " in figures) == (len(needs) > 1)
    early = [r for r in records if r.job.seed < 3]
    assert held(claim, early) == held(claim, early[::-1])
    assert held(claim, early)[0] == OPEN


def test_methods_and_failures_that_are_not_concerned_change_nothing():
    claim = claim_on("within the model")
    finals = {name.replace("-", "_"): 10.0**-k for k, name in enumerate([*BASELINES, *NES])}
    records = field("within-model", **finals)
    others = field("within-model", rkg=1e-9, sobol=1e-9)
    failures = [replace(r, state="failed") for r in field("within-model", ei=1e-9)]
    assert held(claim, records) == held(claim, [*records, *others, *failures])
    assert held(claim, records)[0] == "yes"


def test_without_records_every_claim_is_open():
    assert [finding.verdict for _, finding in findings({})] == [OPEN] * len(CLAIMS)


def within_model(folder, **choices):
    plan = make_plan("within-model", runs=SEEDS, **choices)
    keep_plan(folder, plan)
    ladder = {label: 10.0**-k for k, label in enumerate([*BASELINES, *NES, "rkg", "sobol"])}
    for job in plan.jobs():
        (*_, record) = runs("within-model", job.label, ladder[job.label], seeds=job.seed + 1)
        append_run(folder, replace(record, job=job))


def test_the_page_starts_with_the_claims(tmp_path):
    within_model(tmp_path)
    lines = page(tmp_path)
    assert lines[2] == "## The paper's claims"
    table = [line for line in lines if line.startswith("| ")][: len(CLAIMS) + 2]
    assert table[0] == "| claim | here | figures |"
    assert table[2].startswith(
        "| NES outperforms all baselines within the model (Fig. 2) | **yes**"
    )
    assert all(line.count("|") == 4 for line in table)
    assert "".join(table).count(f"**{OPEN}**") == len(CLAIMS) - 1


def test_claims_are_about_runs_as_in_the_paper(tmp_path):
    assert claim_section(tmp_path) == []
    within_model(tmp_path, evaluations=10)
    assert claim_section(tmp_path) == []


def test_claims_in_the_terminal(tmp_path):
    within_model(tmp_path)
    shown = CliRunner().invoke(app, ["bench", "claims", "--output", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "YES: NES outperforms all baselines within the model (Fig. 2)\n    Final" in shown.output
    assert "NOT ENOUGH RUNS YET: Standard BO stagnates" in shown.output
    assert max(map(len, shown.output.splitlines())) < 120
    nowhere = CliRunner().invoke(app, ["bench", "claims", "--output", str(tmp_path / "none")])
    assert nowhere.exit_code == 2
    assert "has no experiments" in nowhere.output
