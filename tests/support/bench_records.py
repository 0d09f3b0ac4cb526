"""Made-up records of runs, for what reads records."""

import json

import numpy as np

from meseta.bench.job import Job
from meseta.bench.records import RunRecord


def made_up(
    problem="gmm",
    method="rkg",
    seed=0,
    regret=(1e-1, 1e-2),
    *,
    prior="default",
    state="complete",
    dimension=2,
):
    """A run that started with two points and had these regrets afterwards."""
    regret = np.array(regret, dtype=np.float64)
    m = len(regret)
    name, *options = method.split(":")
    pairs = tuple((key, json.loads(value)) for key, value in (o.split("=") for o in options))
    return RunRecord(
        job=Job(problem, name, pairs, seed, prior, m + 1),
        state=state,
        x=np.random.default_rng(seed).uniform(size=(m + 1, dimension)),
        y=np.arange(m + 1.0),
        recommended=np.full((m, dimension), 0.1),
        value=1 - regret,
        regret=regret,
        distance=3 * regret,
        distance_in_box=regret**0.5,
        seconds={
            "fit": np.full(m, 0.2),
            "suggest": np.full(m - 1, 0.1),
            "recommend": np.full(m, 0.05),
            "evaluate": np.full(m + 1, 0.001),
        },
        error=None if state == "complete" else "Traceback ...\nValueError: of sorts\n",
        settings={"num_initial": 2},
        versions={"meseta": "0", "torch": "1"},
    )
