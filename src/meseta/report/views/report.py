"""All that a report shows, of one optimizer."""

from dataclasses import dataclass

from meseta.gp.fit import KernelName
from meseta.optimizer.ask_tell import Optimizer
from meseta.report.views.answer import Answer, answer
from meseta.report.views.landscape import Landscape, landscape
from meseta.report.views.noise_in_words import noise_in_words
from meseta.report.views.outcomes import OutcomesOfBoth, outcomes
from meseta.report.views.search import Evaluation, Search, search
from meseta.report.views.subject import Subject
from meseta.report.views.terms import Terms
from meseta.report.views.tolerances import Tolerances, tolerances


@dataclass(frozen=True)
class Report:
    """None: nothing has finished yet, so that there is no answer."""

    terms: Terms
    maximize: bool
    method: str
    kernel: KernelName
    parameters: tuple[str, ...]  # names, in the order of the space
    noise: tuple[tuple[str, str], ...]  # whose noise, and its law as people write it
    complete: int
    failed: int
    pending: int
    answer: Answer | None
    outcomes: OutcomesOfBoth | None
    tolerances: Tolerances | None  # None also where nothing is perturbed
    landscape: Landscape | None
    search: Search


def report(subject: Subject | Optimizer, terms: Terms | None = None) -> Report:
    """Everything, computed; nothing but the history of the optimizer changes by it."""
    if isinstance(subject, Optimizer):
        subject = Subject(subject)
    terms = terms or Terms()
    optimizer = subject.optimizer
    states = [trial.state for trial in optimizer.trials]
    values = optimizer.has_values
    return Report(
        terms=terms,
        maximize=subject.sign > 0,
        method=optimizer.method,
        kernel=optimizer.settings.kernel,
        parameters=tuple(subject.name(name) for name in subject.parameters),
        noise=noise_in_words(subject, terms),
        complete=states.count("complete"),
        failed=states.count("failed"),
        pending=states.count("pending"),
        answer=answer(subject) if values else None,
        outcomes=outcomes(subject, terms) if values else None,
        tolerances=tolerances(subject, terms) if values else None,
        landscape=landscape(subject) if values else None,
        search=search(subject),
    )


def nothing_yet(
    terms: Terms,
    maximize: bool,
    method: str,
    kernel: KernelName,
    parameters: tuple[str, ...],
    evaluations: tuple[Evaluation, ...],
) -> Report:
    """Of a study without a value, which has no model either."""
    states = [evaluation.state for evaluation in evaluations]
    return Report(
        terms=terms,
        maximize=maximize,
        method=method,
        kernel=kernel,
        parameters=parameters,
        noise=(),
        complete=0,
        failed=states.count("failed"),
        pending=states.count("pending"),
        answer=None,
        outcomes=None,
        tolerances=None,
        landscape=None,
        search=Search(None, evaluations, None, (), ()),
    )
