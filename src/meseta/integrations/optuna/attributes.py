"""The attributes by which a study says more than Optuna asks for."""

from optuna.trial import FrozenTrial, TrialState

# A dict with the values that were carried out, by name. The model learns from these. They count as
# measured, also where they equal the suggested ones.
EXECUTED = "meseta:executed"
# A list of names: values of EXECUTED that nobody has measured, such as a suggested value that a
# spreadsheet has rounded.
UNMEASURED = "meseta:unmeasured"
# True: nobody asked for the trial, so that its suggested values are no plan.
UNASKED = "meseta:unasked"
# A dict with further outcomes of a trial, by name; a failed trial may have some, too.
OUTCOMES = "meseta:outcomes"
# A dict of a study with the ranges of designs by name, [low, high], where trials may go further:
# only such designs are recommended.
DESIGNS = "meseta:designs"
# The reason why a failed trial says nothing about its design, such as a worker that was stopped.
# The design may be suggested again.
VOID = "meseta:void"
# The reason why a trial failed, in a sentence.
ERROR = "meseta:error"


def is_void(trial: FrozenTrial) -> bool:
    """Whether the trial says nothing about its design.

    A value counts, also of a trial that was given up while its worker was about to store it.
    """
    return VOID in trial.user_attrs and trial.state != TrialState.COMPLETE
