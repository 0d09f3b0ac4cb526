"""What our entrants share: they are made from the problem's own laws, by its name."""

import warnings

from meseta import Optimizer
from meseta.problems import get

warnings.simplefilter("ignore")


class MesetaEntrant:
    method = "rkg"
    by_common_rule = True  # what Optimizer.recommend says

    def __init__(self, task):
        # the laws of a task are plain data for everybody; ours are those that they were made from
        problem = get(task.problem)
        self.names, self.several = problem.names, bool(problem.outcomes)
        self.objective = task.objective
        settings = {**problem.settings, "method": self.method, "seed": task.seed}
        self.optimizer = Optimizer(problem.space, **settings)

    def ask(self):
        return self.optimizer.ask()

    def tell(self, params, values):
        self.optimizer.tell(params, values if self.several else values[self.objective])

    def recommend(self):
        best = self.optimizer.recommend().params
        return {name: best[name] for name in self.names}
