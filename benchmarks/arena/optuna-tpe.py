"""Optuna's TPESampler, which knows nothing of the noise of the design."""

import optuna
from _optuna import OptunaEntrant, limits_of


class Entrant(OptunaEntrant):
    title = "Optuna TPESampler"
    settings = (
        "TPESampler(seed, multivariate=True), otherwise its defaults; constraints_func where "
        "there are limits; recommends its best trial; environments as they are on average"
    )
    boards = ("mean", "risk", "constraints")

    def sampler(self, task):
        return optuna.samplers.TPESampler(
            seed=task.seed,
            multivariate=True,
            n_startup_trials=task.num_initial,
            **limits_of(task),
        )
