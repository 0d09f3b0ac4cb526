"""Names of the attributes by which a study says more than Optuna asks for."""

# Of a trial: a dict with the values that were carried out, by name, where they are not the
# suggested ones. The model learns from these.
EXECUTED = "meseta:executed"
# Of a failed trial: why it says nothing about its design, such as a worker that was stopped. It may
# be suggested again.
VOID = "meseta:void"
# Of a failed trial: what went wrong, in a sentence.
ERROR = "meseta:error"
