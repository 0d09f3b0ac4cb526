"""A problem as a test function of BoTorch: its robust objective g, or the f that is observed."""

import torch
from botorch.test_functions.base import BaseTestProblem, ConstrainedBaseTestProblem
from botorch.test_functions.synthetic import SyntheticTestFunction

from meseta import Categorical, Int


class RobustObjective(SyntheticTestFunction):
    """g, with the robust optimum. Gradients do not pass, since it is computed by NumPy."""

    _check_grad_at_opt = False

    def __init__(self, problem, **options):
        self._is_minimization_by_default = problem.direction == "minimize"
        self._optimal_value = problem.g_star
        self._optimizers = [tuple(problem.x_star.tolist())]
        self._has_columns(problem, problem.bounds.T.tolist())
        super().__init__(**options)
        self.problem = problem

    def _has_columns(self, problem, ends):
        self.dim, self._bounds = len(ends), [tuple(each) for each in ends]
        kinds = [problem.kinds.get(name) for name in (*problem.names, *problem.environment)]
        self.discrete_inds = [i for i in range(self.dim) if isinstance(kinds[i], Int)]
        self.categorical_inds = [i for i in range(self.dim) if isinstance(kinds[i], Categorical)]
        others = {*self.discrete_inds, *self.categorical_inds}
        self.continuous_inds = [i for i in range(self.dim) if i not in others]

    def _evaluated(self, function, X):
        values = torch.as_tensor(function(X.detach().double().reshape(-1, self.dim).numpy()))
        return values.reshape(X.shape[:-1] + values.shape[1:]).to(X)

    def _evaluate_true(self, X):
        return self._evaluated(self.problem.g, X)


class ConstrainedObjective(ConstrainedBaseTestProblem, RobustObjective):
    """The slack of a constraint is by how much it is kept more often than is asked."""

    def __init__(self, problem, **options):
        super().__init__(problem, **options)
        self.num_constraints = len(problem.constraints)
        self._worst_feasible_value = problem.g_worst

    def _evaluate_slack_true(self, X):
        asked = torch.from_numpy(self.problem.asked)
        return (self._evaluated(self.problem.shares, X) - asked).to(X)


class Observed(BaseTestProblem):
    """f of a design as it is carried out, and of its environment; where it is best is unknown."""

    num_objectives = 1
    _has_columns, _evaluated = RobustObjective._has_columns, RobustObjective._evaluated

    def __init__(self, problem, **options):
        environment = [problem.space[name] for name in problem.environment]
        self._has_columns(problem, [*problem.bounds.T.tolist(), *environment])
        super().__init__(**options)
        self.problem = problem

    def _evaluate_true(self, X):
        return self._evaluated(self.problem.f, X)
