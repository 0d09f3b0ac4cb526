"""The sampler of a study file, whose parameters are known from the start."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from meseta.integrations.optuna.sampler import RobustSampler
from meseta.study.ledger import Ledger
from meseta.study.marks import BY_HAND, WORKER
from meseta.study.workers.liveness import this_worker


class FileSampler(RobustSampler):
    """RobustSampler with the settings of a study file.

    A trial is marked with its worker before the search for its design, so that others see whether
    that worker still lives.
    """

    def __init__(self, ledger: Ledger, *, by_hand: bool = False) -> None:
        settings = ledger.file.settings()
        super().__init__(settings=replace(settings, initial="sobol"))
        # the parameters of a file are known from the start, so designs can be given
        self._settings = settings
        self._ledger = ledger
        self._by_hand = by_hand

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

    def complete_designs(self, study: optuna.Study, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """The designs of trials that have begun, with values of observed parameters, too."""
        distributions = self._ledger.distributions
        trials = study.get_trials(deepcopy=False)
        return [
            {
                name: params[name]
                if name in params
                else self.sample_independent(study, trials[number], name, distribution)
                for name, distribution in distributions.items()
            }
            for number, params in zip(
                numbers, self.designs(study, numbers, distributions), strict=True
            )
        ]

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        mark: tuple[str, Any] = BY_HAND, True
        if not self._by_hand:
            mark = WORKER, this_worker(self._ledger.database.now())
        self._ledger.mark(trial.number, *mark)
