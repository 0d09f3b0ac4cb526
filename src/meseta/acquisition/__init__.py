"""Acquisition functions: what to evaluate next, in the unit cube."""
