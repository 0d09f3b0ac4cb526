"""What a report costs: time to compute its numbers, time to write the page, and its size.

    python benchmarks/report.py [--cases 50,2 300,6]

Each case is a study of so many trials and parameters at points of a Sobol sequence. The figures are
those of one thread; the machine's pace enters, so compare them with the fit in the same line.
"""

import argparse
import math
import time

import torch

import meseta
from meseta.report import page
from meseta.report.views.report import report
from meseta.report.views.wording import Terms

torch.set_num_threads(1)
CASES = ("50,2", "300,6")


def hills(params):
    """Two hills, one broad and one narrow, in any number of dimensions."""
    broad = math.exp(-sum(8 * (x - 0.3) ** 2 for x in params.values()))
    narrow = math.exp(-sum(60 * (x - 0.75) ** 2 for x in params.values()))
    return broad + 1.2 * narrow


def told(num, d):
    names = [f"x{i}" for i in range(d)]
    optimizer = meseta.Optimizer(
        dict.fromkeys(names, (0.0, 1.0)), noise=meseta.Normal(0.06), num_initial=num, seed=1
    )
    for _ in range(num):
        params = optimizer.ask()
        optimizer.tell(params, hills(params))
    return optimizer


def measured(num, d):
    optimizer = told(num, d)
    begin = time.perf_counter()
    optimizer.recommend()
    fitted = time.perf_counter()
    made = report(optimizer, Terms(at_least=0.5))
    computed = time.perf_counter()
    text = page.html(made)
    written = time.perf_counter()
    size = len(text.encode()) / 1e6
    return fitted - begin, computed - fitted, written - computed, size


def main(arguments=None):
    parser = argparse.ArgumentParser(description="What a report costs.")
    parser.add_argument("--cases", nargs="+", default=CASES, metavar="TRIALS,PARAMETERS")
    print("trials  parameters  fit and answer   numbers      page      size")
    for case in parser.parse_args(arguments).cases:
        num, d = map(int, case.split(","))
        fit, numbers, text, size = measured(num, d)
        print(f"{num:6}  {d:10}  {fit:12.2f} s  {numbers:6.2f} s  {text:6.2f} s  {size:5.2f} MB")


if __name__ == "__main__":
    main()
