"""The sampler of a study file, whose parameters are known from the start."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from meseta.integrations.optuna.sampler import RobustSampler
from meseta.study.ledger import Ledger
from meseta.study.marks import WORKER
from meseta.study.workers.liveness import this_worker


class FileSampler(RobustSampler):
    """RobustSampler with the settings of a study file.

    A trial is marked with its worker before the search for its design, so that others see whether
    that worker still lives.
    """

    def __init__(self, ledger: Ledger) -> None:
        settings = ledger.file.settings()
        super().__init__(settings=replace(settings, initial="sobol"))
        # the parameters of a file are known from the start, so designs can be given
        self._settings = settings
        self._ledger = ledger

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        distributions, stored = self._ledger.distributions, self._ledger.stored
        return {stored.get(n, n): each for n, each in distributions.items() if not each.single()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next design, by the names that trials are stored with."""
        names = {alias: name for name, alias in self._ledger.stored.items()}
        by_name = {names.get(each, each): d for each, d in search_space.items()}
        design = super().sample_relative(study, trial, by_name)
        return {self._ledger.stored.get(name, name): value for name, value in design.items()}

    def complete_designs(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """The designs of the next trials, with values of observed parameters, too."""
        study, distributions = self._ledger.study, self._ledger.distributions
        trial = create_trial(state=TrialState.RUNNING)
        completed = []
        for number, params in zip(
            numbers, self.designs(study, numbers, distributions), strict=True
        ):
            trial.number = number
            independent = {
                name: self.sample_independent(study, trial, name, distribution)
                for name, distribution in distributions.items()
                if name not in params
            }
            completed.append({name: {**params, **independent}[name] for name in distributions})
        return completed

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        self._ledger.mark(trial.number, WORKER, this_worker(self._ledger.database.now()))
