"""Golem on top of Optuna's TPE: the planner sees Golem's robust merits in place of the values."""

import numpy as np
import optuna
from _optuna import OptunaEntrant
from golem import Delta, FrozenNormal, FrozenUniform, Golem, Normal, Uniform


class Entrant(OptunaEntrant):
    title = "Golem on Optuna TPESampler"
    settings = (
        "Golem(forest_type='rf', ntrees=50), beta = 0: a forest as in Aldeghi et al. 2021, its "
        "size chosen by us; before each step TPE is given the robust merits of all experiments "
        "anew; recommends the experiment of the best merit. An environment is drawn by its law in "
        "experiments, and a frozen distribution in merits. Laws that Golem does not have are "
        "normal ones of the same deviation"
    )
    boards = ("mean",)
    python = ".venv-golem/bin/python"

    def sampler(self, task):
        return optuna.samplers.TPESampler(
            seed=task.seed, multivariate=True, n_startup_trials=task.num_initial
        )

    def __init__(self, task):
        super().__init__(task)
        self.rng = np.random.default_rng(task.seed)

    def environment(self, drawn):
        return {
            each["name"]: min(max(float(drawn[each["name"]][0]), each["low"]), each["high"])
            for each in self.task.environment
        }

    def tell(self, params, values):
        self.told.append((params, values))

    def ask(self):
        merits = self.merits()
        self.study = optuna.create_study(direction="maximize", sampler=self.study.sampler)
        drawn = self.task.draw(1, self.rng)
        for (params, values), merit in zip(self.told, merits, strict=True):
            self.trial = None
            self.add(params, values, self.task.sign * float(merit))
        return {**super().ask(), **self.environment(drawn)}

    def recommend(self):
        best = int(np.argmax(self.task.sign * np.array(self.merits())))
        return {name: self.told[best][0][name] for name in self.space}

    def merits(self):
        """E f of every experiment, by the forest."""
        X = np.array(
            [[self.number(each, params) for each in self.columns] for params, _ in self.told]
        )
        y = np.array([values[self.task.objective] for _, values in self.told])
        golem = Golem(
            forest_type="rf",
            ntrees=50,
            goal=self.task.direction[:3],
            nproc=1,
            random_state=self.task.seed,
            verbose=False,
        )
        golem.fit(X=X, y=y)
        golem.predict(X=X, distributions=[self.law(each) for each in self.columns])
        return golem.get_merits(beta=0)

    @property
    def columns(self):
        return [*self.task.parameters, *self.task.environment]

    def number(self, parameter, params):
        value = params[parameter["name"]]
        return parameter["choices"].index(value) if parameter["kind"] == "choice" else value

    def law(self, parameter):
        name = parameter["name"]
        law, sample = self.task.noise.get(name, {}), self.task.sample.get(name)
        if sample is None or sample["how"] == "substitute":
            return Delta()
        if sample["how"] == "replace":
            drawn = np.array(sample["values"])
            if law.get("law") == "uniform":
                return FrozenUniform(parameter["low"], parameter["high"])
            return FrozenNormal(float(drawn.mean()), float(drawn.std()))
        if law.get("law") == "uniform" and sample["how"] == "shift":
            return Uniform(2 * law["half_width"])
        middle = (parameter["low"] + parameter["high"]) / 2
        return Normal(
            float(np.std(self.task.moved(name, middle, {name: np.array(sample["values"])})))
        )
