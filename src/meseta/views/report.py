"""All that a report shows, of one optimizer."""

from dataclasses import dataclass

from meseta.views.answer import Answer
from meseta.views.landscape import Landscape
from meseta.views.outcomes import OutcomesOfBoth
from meseta.views.search import Search
from meseta.views.terms import Terms
from meseta.views.tolerances import Tolerances


@dataclass(frozen=True)
class Report:
    """None: nothing has finished yet, so that there is no answer."""

    terms: Terms
    maximize: bool
    method: str
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
