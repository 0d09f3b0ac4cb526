"""Optuna's GPSampler, which knows nothing of the noise of the design."""

import optuna
import scipy.optimize  # noqa: F401  Optuna loads both with the first step, which would count
import torch  # noqa: F401
from _optuna import OptunaEntrant, limits_of


class Entrant(OptunaEntrant):
    title = "Optuna GPSampler"
    settings = (
        "GPSampler(seed, deterministic_objective=False), its defaults (log EI, Matérn 5/2); "
        "constraints_func where there are limits; recommends its best trial; environments as they "
        "are on average"
    )
    boards = ("mean", "risk", "constraints")

    def sampler(self, task):
        return optuna.samplers.GPSampler(
            seed=task.seed, n_startup_trials=task.num_initial, **limits_of(task)
        )
