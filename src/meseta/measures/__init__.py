"""Measures: what is wanted of the values that a design has in use."""

from meseta.measures.catalogue import CVaR, Mean, MeanStd, OnTarget, Quantile, WorstCase, Yield
from meseta.measures.constraints import AtLeast, AtMost, Between, Constraint
from meseta.measures.measure import Measure
from meseta.measures.words import read_measure

__all__ = [
    "AtLeast",
    "AtMost",
    "Between",
    "CVaR",
    "Constraint",
    "Mean",
    "MeanStd",
    "Measure",
    "OnTarget",
    "Quantile",
    "WorstCase",
    "Yield",
    "read_measure",
]
