"""The paper's claims as data, each held against the records of a folder."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from meseta.bench import verdicts
from meseta.bench.campaign import progress
from meseta.bench.experiments import EXPERIMENTS
from meseta.bench.job import plain_label
from meseta.bench.plan import kept_plans
from meseta.bench.records import RunRecord
from meseta.bench.statistics import LEVEL, fewest_pairs, groups
from meseta.bench.verdicts import Finding, Judge

NES = ("nes-ep", "nes-rs")
BASELINES = ("uu-ei", "uu-ucb", "uu-mes", "unscented-ei", "ei")
OURS = ("rkg", "sobol")  # not in the paper
WIDTH = 100  # letters of a line in a terminal


@dataclass(frozen=True)
class Claim:
    """A claim, the experiments and methods it is about, and what decides it."""

    text: str
    experiments: tuple[str, ...]
    methods: tuple[str, ...]
    judge: Judge
    problems: tuple[str, ...] = ()  # where the paper looked; none: all of the experiments

    def needs(self) -> dict[str, list[str]]:
        """Methods by problem: those of the claim that an experiment has."""
        return {
            problem: [m for m in map(plain_label, self.methods) if m in usual]
            for name in self.experiments
            for usual in [set(map(plain_label, EXPERIMENTS[name].methods))]
            for problem in self.problems or EXPERIMENTS[name].problems
        }


CLAIMS = (
    Claim(
        "NES outperforms all baselines within the model (Fig. 2)",
        ("within-model",),
        (*NES, *BASELINES),
        partial(verdicts.outperform, ours=NES),
    ),
    Claim(
        "NES outperforms all baselines on every synthetic function (Fig. 3)",
        ("synthetic",),
        (*NES, *BASELINES),
        partial(verdicts.outperform, ours=NES),
    ),
    Claim(
        "NES recommends the best designs in six dimensions (appendix)",
        ("hartmann6",),
        ("nes-ep", *BASELINES),
        partial(verdicts.best_designs, ours="nes-ep"),
    ),
    Claim(
        "Nothing else is better than NES-EP: neither robust KG nor Sobol (not in the paper)",
        ("within-model", "synthetic", "gravity", "hartmann6"),
        ("nes-ep", *OURS),
        partial(verdicts.unbeaten, ours="nes-ep"),
    ),
    Claim(
        "NES-RS and NES-EP are close (Fig. 2)",
        ("within-model", "synthetic"),
        NES,
        partial(verdicts.close, reference="nes-ep"),
    ),
    Claim(
        "The advantage of NES grows with the dimension (Fig. 3)",
        ("synthetic",),
        ("nes-ep", *BASELINES),
        partial(verdicts.advantage_grows, ours="nes-ep"),
    ),
    Claim(
        "Standard BO stagnates (Figs. 3 and 4)",
        ("synthetic", "gravity"),
        ("ei", "nes-ep"),
        partial(verdicts.stagnates, who="ei", beside="nes-ep"),
    ),
    Claim(
        "Gravity assist: the regret of NES is almost two orders of magnitude below standard BO "
        "(Fig. 4)",
        ("gravity",),
        ("nes-ep", "ei"),
        partial(verdicts.far_below, ours="nes-ep", theirs="ei"),
    ),
    Claim(
        "The number of max-values K makes no difference on functions of the model (appendix)",
        ("max-values",),
        EXPERIMENTS["max-values"].methods,
        partial(verdicts.alike, reference="nes-ep"),
        ("within-model",),
    ),
    Claim(
        "κ = 1 is best for unscented BO on functions of the model (appendix)",
        ("kappa",),
        EXPERIMENTS["kappa"].methods,
        partial(verdicts.best_setting, reference="unscented-ei"),
        ("within-model",),
    ),
)


def held(claim: Claim, records: Sequence[RunRecord]) -> Finding:
    """The verdict on a claim, by those of the records that it is about."""
    needs = claim.needs()
    # with fewer runs the test can show nothing, and a median says little
    least = fewest_pairs(sum(len(methods) - 1 for methods in needs.values()))
    runs = common_runs(needs, records)
    enough = [problem for problem, number in runs.items() if number >= least]
    mine = [r for r in records if r.job.problem in enough and r.job.label in needs[r.job.problem]]
    finding = claim.judge(mine) if enough else Finding("not enough runs yet", "")
    if len(enough) == len(needs):
        span = dict.fromkeys((min(runs.values()), max(runs.values())))
        return finding._replace(
            figures=f"{finding.figures} {' to '.join(map(str, span))} runs of each method."
        )
    few = "; ".join(f"{problem} {runs[problem]}" for problem in needs if problem not in enough)
    so_far = f" Elsewhere: {finding.figures}" if enough else ""
    return Finding(
        "not enough runs yet",
        f"Runs that all methods concerned have finished, of {least} needed: {few}.{so_far}",
    )


def common_runs(needs: Mapping[str, Sequence[str]], records: Sequence[RunRecord]) -> dict[str, int]:
    """On each problem, the number of seeds that every one of its methods has finished."""
    found = groups(records)
    return {
        problem: len(
            set.intersection(
                *({r.job.seed for r in found.get(problem, {}).get(m, ())} for m in methods)
            )
        )
        for problem, methods in needs.items()
    }


def findings(records: Mapping[str, Sequence[RunRecord]]) -> list[tuple[Claim, Finding]]:
    """The verdict on every claim, by the records of each experiment."""
    return [
        (claim, held(claim, [r for name in claim.experiments for r in records.get(name, ())]))
        for claim in CLAIMS
    ]


def records_of(folder: Path) -> dict[str, list[RunRecord]]:
    """Complete runs by experiment, with the priors and budgets of the paper."""
    names = {name for claim in CLAIMS for name in claim.experiments}
    return {
        plan.experiment: progress(folder, plan).complete
        for plan in kept_plans(folder)
        if plan.name == plan.experiment and plan.name in names
    }


def claim_section(folder: Path) -> list[str]:
    """The claims for the results page; nothing if none of the paper's experiments is there."""
    records = records_of(folder)
    if not records:
        return []
    rows = [(claim.text, verdict, said) for claim, (verdict, said) in findings(records)]
    return [
        "## The paper's claims",
        "",
        *("| claim | here | figures |", "| --- | --- | --- |"),
        *(f"| {text} | **{verdict}** | {said} |" for text, verdict, said in rows),
        "",
        EXPLANATION,
        "",
    ]


def claim_lines(folder: Path) -> list[str]:
    """The claims for the terminal."""
    lines = []
    for claim, (verdict, said) in findings(records_of(folder)):
        lines += [f"{verdict.upper()}: {claim.text}"]
        lines += textwrap.wrap(said, WIDTH, initial_indent="    ", subsequent_indent="    ")
        lines += [""]
    return [*lines, *textwrap.wrap(EXPLANATION, WIDTH)]


EXPLANATION = (
    "Figures are medians over runs. A difference is shown if the paired test finds it at the level "
    f"of {LEVEL}, corrected by Holm for all comparisons of the claim with the same method. A claim "
    "on several problems is borne out partly if it is on some of them; that NES outperforms is not "
    "borne out as soon as a baseline ends lower anywhere, and partly if none does but not every "
    "difference is shown."
)
