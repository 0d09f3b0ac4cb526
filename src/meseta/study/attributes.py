"""Names of the attributes by which trials of a study say who works at them."""

# Who evaluates the trial: host, process, when that process was started, and its last sign of life.
WORKER = "meseta:worker"
BEAT = "meseta:beat"
# Somebody carries the trial out by hand.
BY_HAND = "meseta:by-hand"
# The number of the trial that this outcome was told for, which had been given up before.
INSTEAD_OF = "meseta:instead-of"
