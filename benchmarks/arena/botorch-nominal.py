"""BoTorch without any knowledge of the noise of the design: qLogNEI of the values as they are."""

from _botorch import BoTorchEntrant
from _nominal import best_told, merit
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.acquisition.objective import GenericMCObjective


class Entrant(BoTorchEntrant):
    title = "BoTorch nominal qLogNEI"
    settings = (
        "SingleTaskGP and qLogNEI with their defaults, outcome constraints where there are limits, "
        "optimize_acqf with 10 restarts and 256 raw samples; recommends its best experiment in "
        "the usual environment"
    )
    boards = ("mean", "risk", "constraints")

    def goal(self, values):
        return merit(self.task, values)

    def ask(self):
        usual = self.task.typical()
        environment = [self.to_cube(each, usual[each["name"]]) for each in self.task.environment]
        several = {}
        if self.task.limits:
            several["objective"] = GenericMCObjective(lambda Z, X=None: Z[..., 0])
            several["constraints"] = self.limits()
        acquisition = qLogNoisyExpectedImprovement(self.model(), self.X, **several)
        return {**self.from_cube(self.search(acquisition, environment)), **usual}

    def recommend(self):
        return best_told(self.task, self.told)
