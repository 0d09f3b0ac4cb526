"""A plan: an experiment with the chosen methods, problems and number of runs."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meseta.bench.experiments import EXPERIMENTS, Experiment
from meseta.bench.job import Job, plain_label, read_method
from meseta.boundary import unknown
from meseta.problems import of_paper
from meseta.whole_file import write_whole

if TYPE_CHECKING:
    from meseta.bench.records import RunRecord

PRIORS = ("default", "paper")
WITHIN_MODEL = "within-model"


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment; `evaluations` None: as many as each problem asks for."""

    experiment: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    runs: int
    prior: str | None = None
    evaluations: int | None = None

    @property
    def name(self) -> str:
        """The name of its files: plans with other priors or budgets stand beside each other."""
        prior = f",prior={self.prior}" if self.prior else ""
        evaluations = f",evaluations={self.evaluations}" if self.evaluations else ""
        return f"{self.experiment}{prior}{evaluations}"

    @property
    def of(self) -> Experiment:
        return EXPERIMENTS[self.experiment]

    def jobs(self) -> list[Job]:
        """All methods and problems with the first seed, then with the second, and so on.

        So a campaign that ends early still compares like with like.
        """
        budgets = {name: self.evaluations or budget(name) for name in self.problems}
        return [
            Job(name, *read_method(label), seed, self.prior_on(name), budgets[name])
            for seed in range(self.runs)
            for name in self.problems
            for label in self.methods
        ]

    def read(self, line: dict[str, Any]) -> "RunRecord":
        """A record of a run as it stands in its file."""
        from meseta.bench.records import RunRecord

        return RunRecord.from_json(line)

    def prior_on(self, problem: str) -> str:
        """The prior on a problem; within the model the true hyper-parameters are known."""
        return "known" if problem == WITHIN_MODEL else self.prior or "default"


def make_plan(
    experiment: str,
    *,
    problems: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    runs: int | None = None,
    prior: str | None = None,
    evaluations: int | None = None,
) -> Plan:
    """The plan of an experiment with other choices; refuses choices that make no sense."""
    if experiment not in EXPERIMENTS:
        raise ValueError(unknown("experiment", experiment, EXPERIMENTS))
    usual = EXPERIMENTS[experiment]
    labels = [plain_label(label) for label in methods or usual.methods]
    plan = Plan(
        experiment,
        tuple(dict.fromkeys(problems or usual.problems)),
        tuple(dict.fromkeys(labels)),
        usual.runs if runs is None else runs,
        prior,
        evaluations,
    )
    _check(plan)
    return plan


def budget(problem: str) -> int:
    """The number of evaluations of one run of the paper."""
    from meseta.bench.one_run import problem_of

    return problem_of(problem, 0).budget


def keep_plan(folder: Path, plan: Plan) -> Plan:
    """Add a plan to those of a folder; runs that were planned under its name before stay so."""
    if plan.of.kind == "picture":
        return plan
    path = folder / "plans" / f"{plan.name}.json"
    if path.exists() and plan.of.kind == "runs":  # timings compare what took turns, nothing else
        before = _read(path)
        plan = replace(
            plan,
            problems=_union(before.problems, plan.problems),
            methods=_union(before.methods, plan.methods),
            runs=max(before.runs, plan.runs),
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(plan), indent=1) + "\n")
    return plan


def kept_plans(folder: Path) -> list[Plan]:
    """The plans of a folder, in the order of the experiments."""
    plans = [_read(path) for path in sorted((folder / "plans").glob("*.json"))]
    order = list(EXPERIMENTS)
    return sorted(plans, key=lambda plan: (order.index(plan.experiment), plan.name))


def _check(plan: Plan) -> None:
    from meseta.bench.one_run import problem_of

    if plan.runs < 1:
        raise ValueError(f"runs must be at least 1, got {plan.runs}")
    if plan.prior is not None and plan.prior not in PRIORS:
        raise ValueError(unknown("prior", plan.prior, PRIORS))
    known = [WITHIN_MODEL, *of_paper()]
    for name in plan.problems:
        if name not in known:
            raise ValueError(unknown("problem", name, known))
        least = problem_of(name, 0).num_initial
        if plan.evaluations is not None and plan.evaluations < least:
            raise ValueError(
                f"runs on {name!r} start with {least} points, so they need at least as many "
                f"evaluations, got {plan.evaluations}"
            )


def _read(path: Path) -> Plan:
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    lists = {name: tuple(values[name]) for name in ("problems", "methods")}
    return Plan(**{**values, **lists})


def _union(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*before, *now]))
