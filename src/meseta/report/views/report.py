"""All numbers that a report shows."""

from dataclasses import dataclass

from meseta.gp.fit import KernelName
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.record import Trial
from meseta.report.views.answer import Answer, answer
from meseta.report.views.capability import CapabilityOfBoth, capability
from meseta.report.views.landscape import Landscape, landscape
from meseta.report.views.noise_in_words import noise_in_words
from meseta.report.views.origin import Origin
from meseta.report.views.outcomes import OutcomesOfBoth, outcomes
from meseta.report.views.playground import Playground, playground
from meseta.report.views.running import Running
from meseta.report.views.search import Search, search
from meseta.report.views.subject import Subject
from meseta.report.views.tolerances import Tolerances, tolerances
from meseta.report.views.wording import Terms


@dataclass(frozen=True)
class Report:
    """The numbers of a report; parts are None while no trial has a value."""

    terms: Terms
    maximize: bool
    method: str
    kernel: KernelName
    parameters: tuple[str, ...]  # names, in the order of the space
    noise: tuple[tuple[str, str], ...]  # parameters, and their noise law in words
    complete: int  # the number of complete trials
    failed: int
    pending: int
    answer: Answer | None
    outcomes: OutcomesOfBoth | None
    tolerances: Tolerances | None  # None also without noise
    landscape: Landscape | None
    search: Search
    capability: CapabilityOfBoth | None = None  # None also without a specification
    origin: Origin | None = None  # None: nobody has stamped it
    play: Playground | str | None = None  # for the page alone; a text: why there is none
    running: Running | None = None  # None: the study is not running


def report(subject: Subject | Optimizer, terms: Terms | None = None) -> Report:
    """Computes all parts; of the optimizer only the history may change."""
    if isinstance(subject, Optimizer):
        subject = Subject(subject)
    optimizer = subject.optimizer
    terms = (terms or Terms()).with_limits_of(optimizer.measure)
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
        capability=capability(subject, terms) if values else None,
        play=playground(subject) if values else None,
    )


def nothing_yet(
    terms: Terms,
    maximize: bool,
    method: str,
    kernel: KernelName,
    parameters: tuple[str, ...],
    trials: tuple[Trial, ...],
) -> Report:
    """The report of a study in which no trial has a value, so that it has no model."""
    states = [trial.state for trial in trials]
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
        search=Search(None, trials, None, (), ()),
    )
