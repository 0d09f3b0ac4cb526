"""The study file that `meseta init` writes: short, and every line explained."""

from meseta.study.toml.lines import quoted

_TEXT = """\
# A study: what is varied, how it deviates in use, and what is worth trying next.
# Lines that start with # are explanations, or examples to take the # away from.
version = 1  # the version of this file format

[study]
name = NAME
direction = "maximize"  # or "minimize"
budget = 30  # trials in all; leave it out to go on until you stop
# value = "holding force"  # what is measured, its unit, and what is asked of it, for reports
# unit = "N"
# at_least = 400.0  # or at_most, or both
# probability = 0.99  # how often that is to be met in use
# The parts scatter in use as repeated values do; or say "none", where that is error of the gauge,
# or the standard deviation of the gauge:
# scatter_in_use = "all"
seed = 0  # the same seed and the same results give the same suggestions
# method = "rkg"  # how the next trial is chosen: rkg is the default and rarely the wrong one
# storage = "postgresql://me:${MESETA_PASSWORD}@host/studies"  # or else SQLite beside this file
# notes = "What somebody who finds this file in a year should know."

# How a trial is evaluated. Without this table you carry it out and enter the result by hand.
# [objective]
# python = "press:holding_force"  # the function holding_force(params) in press.py beside this file
# Or a program, whose last line of output is the result:
# command = ["./simulate", "{shaft}", "{bore}", "--speed={speed}", "{passes}", "{oil}"]
# timeout = 600  # seconds until a trial has failed; for functions, too

# What is varied: one table for each parameter, with its range. Noise is how far a parameter is off
# in use, where nobody can keep it exactly; a parameter without noise is kept exactly.
[parameters.shaft]
low = 0.0
high = 60.0
unit = "um"  # shown beside values
noise = "± 8 um"  # a tolerance, in the unit of the parameter
note = "Oversize of the shaft, as measured at 20 degrees."

[parameters.bore]
low = 0.0
high = 30.0
step = 0.5  # only 0, 0.5, 1, ... are suggested
noise = 2.5  # a standard deviation

[parameters.speed]
low = 1
high = 100
log = true  # searched on a logarithmic scale
noise = "5 %"  # a standard deviation in proportion to the value
edge = "clip"  # beyond the range it stops at the ends; "allow", the default: f exists there, too

[parameters.passes]
type = "int"  # whole numbers from low to high
low = 1
high = 8

[parameters.oil]
choices = ["mineral", "synthetic"]
noise = "2 %"  # the probability that another choice is carried out

# Every other law is a table: noise = { law = "truncated-normal", std = 8, low = -12, high = 12 }
# Deviations that go together, such as the expansion of two parts by one temperature; they come on
# top of those that a parameter has by itself:
# [[noise]]
# parameters = ["shaft", "bore"]
# law = "common"
# of = { law = "normal", std = 2.0 }  # of the cause: degrees
# loads = [0.8, 0.3]  # what one degree does to each parameter
"""


def template(name: str) -> str:
    """The text of a new study file for a study of that name."""
    return _TEXT.replace("NAME", quoted(name), 1)
