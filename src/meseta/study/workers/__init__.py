"""Workers: who evaluates the trials of a study, and how they live together."""
