"""The experiments of the paper, and a few of our own, as data."""

from dataclasses import dataclass
from typing import Literal

Metric = Literal["regret", "distance", "value"]
Kind = Literal["runs", "timing", "picture"]

# The paper's seven, and beside them the robust knowledge gradient and quasi-random points.
PAPER = ("nes-ep", "nes-rs", "uu-ei", "uu-ucb", "uu-mes", "unscented-ei", "ei")
ALL = ("rkg", *PAPER, "sobol")
SYNTHETIC = ("sin-linear", "rkhs", "gmm", "polynomial", "hartmann3")


@dataclass(frozen=True)
class Experiment:
    """Methods, problems and runs of an experiment, and the pictures that show it.

    Every run takes as many evaluations as its problem asks for, and the same initial points for
    all methods. A method may carry options: "nes-ep:num_max_values=10".
    """

    name: str
    title: str
    shows: str  # what of the paper it reproduces
    kind: Kind = "runs"
    problems: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    runs: int = 1
    metrics: tuple[Metric, ...] = ("regret",)
    reference: str = "nes-ep"  # whom the other methods are compared with


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "within-model",
            "Within-model comparison",
            "Fig. 2: functions drawn from a GP prior, hyper-parameters known",
            problems=("within-model",),
            methods=ALL,
            runs=50,
        ),
        Experiment(
            "synthetic",
            "Synthetic benchmark functions",
            "Fig. 3, and the distance to the optimum (appendix)",
            problems=SYNTHETIC,
            methods=ALL,
            runs=100,
            metrics=("regret", "distance"),
        ),
        Experiment(
            "gravity",
            "Gravity assist maneuver",
            "Fig. 4: cost map, example trajectories, regret",
            problems=("gravity",),
            methods=("rkg", "nes-ep", "uu-ei", "unscented-ei", "ei"),
            runs=100,
        ),
        Experiment(
            "hartmann6",
            "Hartmann function in six dimensions",
            "appendix: g of the recommended design; and its regret, since g is known exactly here",
            problems=("hartmann6",),
            methods=("rkg", "nes-ep", "uu-ei", "uu-ucb", "uu-mes", "unscented-ei", "ei", "sobol"),
            runs=20,
            metrics=("value", "regret"),
        ),
        Experiment(
            "max-values",
            "Number of max-value samples K of NES-EP",
            "appendix: within-model; and the synthetic functions",
            problems=("within-model", *SYNTHETIC),
            methods=tuple(f"nes-ep:num_max_values={K}" for K in (1, 3, 10, 30, 100)),
            runs=50,
        ),
        Experiment(
            "kappa",
            "Unscented BO: kappa",
            "appendix: within-model; and the synthetic functions",
            problems=("within-model", *SYNTHETIC),
            methods=tuple(f"unscented-ei:kappa={kappa}" for kappa in (0.0, 0.5, 1.0, 1.5, 2.0)),
            runs=50,
            reference="unscented-ei",
        ),
        Experiment(
            "timing",
            "Compute time per iteration",
            "appendix: table of compute times, within-model, one thread",
            kind="timing",
            problems=("within-model",),
            methods=ALL,
            runs=50,
            reference="ei",
        ),
        Experiment(
            "schematic",
            "Predictive distributions before and after conditioning on g*",
            "Fig. 1",
            kind="picture",
        ),
        Experiment("gallery", "f and g of every problem", "appendix", kind="picture"),
        Experiment(
            "quick",
            "A first look",
            "a few minutes: the main contenders on two functions",
            problems=("sin-linear", "gmm"),
            methods=("rkg", "nes-ep", "uu-ei", "ei"),
            runs=3,
            metrics=("regret", "distance"),
        ),
    )
}
