"""What the entrants of Optuna share: a study that is asked and told. It loads nothing of ours."""

import warnings

import optuna
from _nominal import best_told, is_usual, merit, violations
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
LIMITS = "limits"


class OptunaEntrant:
    """Optimises the values as they are, in the usual environment: others are not shown to it."""

    def sampler(self, task):
        raise NotImplementedError

    def __init__(self, task):
        self.task, self.told, self.trial = task, [], None
        self.space = {each["name"]: distribution(each) for each in task.parameters}
        self.study = optuna.create_study(direction="maximize", sampler=self.sampler(task))

    def ask(self):
        self.trial = self.study.ask(self.space)
        return {**self.trial.params, **self.task.typical()}

    def tell(self, params, values):
        self.told.append((params, values))
        if is_usual(self.task, params):
            self.add(params, values, merit(self.task, values))

    def add(self, params, values, value):
        missed = violations(self.task, values)
        if self.trial is not None:
            self.trial.set_user_attr(LIMITS, missed)
            self.study.tell(self.trial, value)
            self.trial = None
            return
        design = {name: params[name] for name in self.space}
        made = optuna.trial.create_trial(
            params=design,
            distributions=self.space,
            value=value,
            user_attrs={LIMITS: missed},
            system_attrs={"constraints": missed} if missed else {},
        )
        self.study.add_trial(made)

    def recommend(self):
        return best_told(self.task, self.told)


def limits_of(task):
    """The keyword of samplers that know constraints; none where there are none."""
    return {"constraints_func": lambda trial: trial.user_attrs[LIMITS]} if task.limits else {}


def distribution(parameter):
    if parameter["kind"] == "choice":
        return CategoricalDistribution(parameter["choices"])
    if parameter["kind"] == "int":
        return IntDistribution(
            parameter["low"], parameter["high"], log=parameter["log"], step=parameter["step"]
        )
    return FloatDistribution(
        parameter["low"], parameter["high"], log=parameter["log"], step=parameter["step"]
    )
