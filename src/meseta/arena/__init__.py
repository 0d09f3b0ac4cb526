"""The arena: rivals on problems with known robust optima, each in one file."""
