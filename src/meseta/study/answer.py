"""The optimum that the trials of a study file speak for."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from meseta.acquisition import methods
from meseta.integrations.optuna.sampler import recommend
from meseta.space.space import Design
from meseta.study.ledger import Ledger
from meseta.study.toml.file import StudyFile

if TYPE_CHECKING:
    from meseta.integrations.optuna.study_answer import StudyAnswer
else:
    StudyAnswer = object


def answer_of(ledger: Ledger, measure: str | None = None) -> StudyAnswer:
    """The robust optimum, with the nominal one beside it; by the measure of the file, if None."""
    file = ledger.file
    settings = file.settings()
    other: Any = {} if measure is None else {"measure": measure}
    if measure is not None and not methods.get(settings.method).measures:
        # nothing is searched for: the method has no say
        other |= {"method": methods.DEFAULT_METHOD, "options": None}
    return _ordered(file, recommend(ledger.study, settings=settings, **other))


def answer_without(ledger: Ledger, numbers: Collection[int]) -> StudyAnswer:
    """The same by all trials but these."""
    from meseta.integrations.optuna.study_answer import answer

    return _ordered(ledger.file, answer(ledger.study, ledger.file.settings(), without=numbers))


def _ordered(file: StudyFile, answer: StudyAnswer) -> StudyAnswer:
    nominal = replace(answer.nominal, params=_in_order(file, answer.nominal.params))
    return replace(answer, params=_in_order(file, answer.params), nominal=nominal)


def _in_order(file: StudyFile, params: Design) -> Design:
    """The values in the order of the file."""
    return {name: params[name] for name in file.parameters if name in params}
