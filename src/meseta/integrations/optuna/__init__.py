"""Optuna: a sampler that looks for robust optima, and the robust optimum of any study.

    study = optuna.create_study(sampler=RobustSampler(noise={"x": meseta.Normal(0.1)}))
    study.optimize(objective, n_trials=30)
    print(recommend(study, noise={"x": meseta.Normal(0.1)}))

Importing this module does not load torch; the first sampler does.
"""

from meseta.integrations.optuna.amend import comment, correct, withdraw
from meseta.integrations.optuna.attributes import (
    DESIGNS,
    EXECUTED,
    EXECUTION,
    OUTCOMES,
    PRECISION,
)
from meseta.integrations.optuna.sampler import RobustSampler, recommend, report

__all__ = [
    "DESIGNS",
    "EXECUTED",
    "EXECUTION",
    "OUTCOMES",
    "PRECISION",
    "RobustSampler",
    "comment",
    "correct",
    "recommend",
    "report",
    "withdraw",
]
