"""Names of the attributes by which trials of a study say who works at them.

Times are seconds since 1970 by the clock of the database, which all workers share.
"""

# Who evaluates the trial: see `liveness.this_worker`.
WORKER = "meseta:worker"
# The last sign of life. The first one is given when the evaluation begins.
BEAT = "meseta:beat"
# When a running trial was first seen that does not say who works at it.
SEEN = "meseta:seen"
# Somebody carries the trial out by hand.
BY_HAND = "meseta:by-hand"
# A run that confirms a design: a dict with the identity of its plan, how it is carried out, the
# design, and the place that it is set to on purpose.
CONFIRMS = "meseta:confirms"
# The number of the trial, given up before, that this outcome belongs to.
INSTEAD_OF = "meseta:instead-of"
# Seconds since the last sign of life. Readers of the trials compute it; it is never stored.
SILENT = "meseta:silent"
