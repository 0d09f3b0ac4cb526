"""The sampler, and the robust optimum of a study."""

import threading
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import optuna

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from meseta.integrations.optuna.study_answer import StudyAnswer
    from meseta.optimizer.ask_tell import Optimizer
    from meseta.optimizer.settings import Keywords, Settings
    from meseta.report import Page
    from meseta.report.views.wording import Words

    class ReportKeywords(Keywords, Words, total=False):
        """The settings, and the words of a report."""
else:  # at run time they are read by hand, and late, so that torch is not loaded here
    Keywords = ReportKeywords = dict
    Optimizer = Page = Settings = StudyAnswer = object
    BaseDistribution = optuna.distributions.BaseDistribution
    Study, FrozenTrial = optuna.study.Study, optuna.trial.FrozenTrial

# Workers that have started but whose designs are not in the storage yet: at most this many count,
# and only among this many of the last trials. Those further back have died.
MOST_AWAITED = 4
AWAITED_AMONG = 32
# Libraries below keep settings in global variables: one suggestion at a time in a process.
_LOCK = threading.Lock()


class RobustSampler(optuna.samplers.BaseSampler):
    """Suggests what tells most about the optimum of g(x) = E f(x + xi).

    Everything is read from the storage at each suggestion: any process may go on with a study, and
    the same storage, seed and trial number give the same suggestion. Parameters that all complete
    trials share are suggested by the method, others at random. Running trials count as pending;
    failed and pruned ones have no value, and are not suggested again.

    A finished trial may say by the user attribute EXECUTED which values were carried out:
    `trial.set_user_attr(EXECUTED, {"x": 0.31})` in the objective. The model learns from these. It
    may have further outcomes by the user attribute OUTCOMES, a dict of numbers by name, and
    constraints by `trial.set_constraint`, or by the `constraints_func` of another sampler: numbers
    that have to stay at or below 0 in use. A study may say by its user attribute DESIGNS that
    designs have narrower ranges than trials: `study.set_user_attr(DESIGNS, {"x": [0.0, 1.0]})`.

    Args:
        settings: None: the defaults, with another seed each time, as samplers of Optuna have it.
        keywords: The settings that differ from these: noise, measure, constraints, outcomes, edge,
            method, options, kernel, prior, noise_variance, possible, scatter_in_use, verify, seed,
            num_initial, initial. See `meseta.Settings`. Noise and edge may name parameters that
            only some trials have; designs of your own are not given as `initial`, but by
            `study.enqueue_trial`.
    """

    def __init__(self, *, settings: Settings | None = None, **keywords: Unpack[Keywords]) -> None:
        from meseta.integrations.optuna.study_settings import study_settings

        seed = {"seed": None} if settings is None else {}
        self._settings = study_settings(settings, {**seed, **keywords})
        if not isinstance(self._settings.initial, str):
            raise ValueError(
                "initial must be 'sobol' or 'uniform' here, since the parameters of a study are "
                "not known before its trials; give designs of your own by study.enqueue_trial(...)"
            )
        self._seed = self._settings.drawn_seed()

    def reseed_rng(self) -> None:
        """Take another seed, as Optuna asks for where trials run in several threads."""
        self._seed = replace(self._settings, seed=None).drawn_seed()

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The parameters that all complete trials share, except those with a single value."""
        from meseta.integrations.optuna.amended import amended_trials

        shared = optuna.search_space.intersection_search_space(amended_trials(study))
        return {name: each for name, each in shared.items() if not each.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next design, without parameters that cannot be set."""
        return self.designs(study, [trial.number], search_space)[0]

    def designs(
        self, study: Study, numbers: Sequence[int], search_space: dict[str, BaseDistribution]
    ) -> list[dict[str, Any]]:
        """The designs of the trials with these numbers, which have begun: one reading, one fit."""
        from meseta.integrations.optuna.amended import amended_trials
        from meseta.integrations.optuna.study_space import StudySpace, designs_of
        from meseta.integrations.optuna.study_trials import check_one_objective

        check_one_objective(study)
        if all(each.single() for each in search_space.values()):
            return [{} for _ in numbers]
        with _LOCK:
            trials = amended_trials(study)
            space = StudySpace(search_space, designs_of(study))
            optimizer = self._resumed(study, trials, space, numbers)
            found = optimizer.ask(len(numbers))
            return [{**space.fixed, **space.to_optuna(design)} for design in found]

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """At random, from a stream that belongs to the seed, the trial and the parameter."""
        from meseta.integrations.optuna.study_trials import check_one_objective

        check_one_objective(study)
        stream = [self._seed, trial.number, zlib.crc32(param_name.encode())]
        seed = int(np.random.SeedSequence(stream).generate_state(1)[0])
        sampler = optuna.samplers.RandomSampler(seed=seed)
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _resumed(self, study: Study, trials: Any, space: Any, numbers: Sequence[int]) -> Optimizer:
        """An optimizer that knows what the storage knows, for the trials of these numbers."""
        from meseta.acquisition import methods
        from meseta.integrations.optuna.study_outcomes import with_constraints
        from meseta.integrations.optuna.study_settings import observed, optimizer_of
        from meseta.integrations.optuna.study_trials import known_params, read_trials
        from meseta.optimizer.record import Trial

        number, own = numbers[0], set(numbers)
        others = [trial for trial in trials if trial.number not in own]
        settings = with_constraints(self._settings, others)
        fresh = optimizer_of(study, space, replace(settings, seed=self._seed))
        read = read_trials(
            others,
            space,
            observed(settings),
            settings.possible,
            fresh.outcomes,
            settings.executed,
            tuple(fresh.environments.variables),
        )
        known = list(read.trials)
        awaited = [
            each
            for each in read.awaited
            if known_params(each, space) or 0 < number - each.number <= AWAITED_AMONG
        ][-MOST_AWAITED:]
        seed = self._seed
        if len(known) + len(awaited) >= fresh.initial.num:
            self._warn(trials, read.left_out)
            if methods.get(fresh.method).prepare is not None:
                seed = _mixed(seed, number)  # but the points of a Sobol sequence belong together
        optimizer = fresh.with_trials(known, seed=seed)
        for each in awaited:
            # The worker is at it: it will have what would be asked for next.
            params = {**optimizer.ask(), **known_params(each, space)}
            known.append(Trial(len(known), params, None, "pending", "method"))
            optimizer = optimizer.with_trials(known)
        return optimizer

    def _warn(self, trials: Any, left_out: tuple[str, ...]) -> None:
        """Warns of what the model does without; Python shows each sentence once."""
        from meseta.boundary import unknown
        from meseta.integrations.optuna.study_space import names_in

        for sentence in left_out:
            warnings.warn(sentence, RuntimeWarning, stacklevel=4)
        names = list(dict.fromkeys(name for trial in trials for name in trial.distributions))
        for name in names_in(self._settings.noise, self._settings.edge):
            if name not in names:
                warnings.warn(
                    f"noise or edge of a parameter that no trial has had so far: "
                    f"{unknown('parameter', name, names)}",
                    RuntimeWarning,
                    stacklevel=4,
                )


def recommend(
    study: Study, *, settings: Settings | None = None, **keywords: Unpack[Keywords]
) -> StudyAnswer:
    """The robust optimum that the complete trials of a study speak for, and the nominal one.

    The study may be running or finished, and any sampler may have made it. Parameters that some
    complete trials do not have, and trials without a finite value, are left out; `notes` of the
    answer says so.

    Args:
        study: An Optuna study.
        settings: None: the defaults.
        keywords: The settings that differ from these, as in `RobustSampler`.
    """
    from meseta.integrations.optuna.study_answer import answer
    from meseta.integrations.optuna.study_settings import study_settings

    return answer(study, study_settings(settings, keywords))


def report(
    study: Study, *, settings: Settings | None = None, **keywords: Unpack[ReportKeywords]
) -> Page:
    """The report of a study, running or finished, made by any sampler.

    Args:
        study: An Optuna study.
        settings: None: the defaults.
        keywords: The settings that differ from these, as in `RobustSampler`, and the words of the
            report, as in `meseta.report.for_optimizer`.
    """
    from meseta.integrations.optuna.study_report import study_report
    from meseta.integrations.optuna.study_settings import study_settings
    from meseta.report import Page
    from meseta.report.views.wording import Words, read_terms

    words = {name: said for name, said in keywords.items() if name in Words.__annotations__}
    others = {name: said for name, said in keywords.items() if name not in words}
    terms = read_terms({"title": study.study_name, **words})
    return Page(study_report(study, study_settings(settings, others), terms))


def _mixed(seed: int, number: int) -> int:
    """A seed for the suggestion of that trial."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1)
