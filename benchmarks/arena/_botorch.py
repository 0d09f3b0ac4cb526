"""BoTorch's route to robust designs: models that see perturbed copies of every point.

As in its tutorial on risk-averse optimization with input perturbations: InputPerturbation, a risk
measure over the copies, a larger set of copies for what is recommended, and where there are limits,
values that are weighted by feasibility before (the documented use of `preprocessing_function`). The
copies are quasi-random draws of the noise.
"""

import warnings
from contextlib import contextmanager

import numpy as np
import torch
from botorch.acquisition import PosteriorMean, qLogNoisyExpectedImprovement, qSimpleRegret
from botorch.acquisition.knowledge_gradient import qKnowledgeGradient
from botorch.acquisition.objective import ConstrainedMCObjective, ExpectationPosteriorTransform
from botorch.acquisition.risk_measures import CVaR, Expectation, VaR
from botorch.acquisition.utils import get_infeasible_cost
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.models.transforms.input import InputPerturbation
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
RESTARTS, RAW_SAMPLES = 10, 256  # our choice, as are the next ones: tutorials differ in them
FANTASIES, INNER_SAMPLES = 16, 32
RECOMMENDING = 128  # copies for a recommendation, as in the tutorial
DESIGNS, CLOUDS = 256, (0.05, 0.01)  # that a recommendation within limits chooses among
WITHIN = 2048  # copies by which it tells how often limits are kept
SURE = (1.645, 1.0, 0.5, 0.0)  # standard deviations of the model that copies stay within limits
BLOCK = 2**14  # copies that are predicted at a time
SMOOTHING = 0.02  # of limits, in standard deviations of the values


class BoTorchEntrant:
    """What all entrants of BoTorch share: parameters as columns from 0 to 1, models, a search."""

    copies = 0  # none: the values as they are

    def __init__(self, task):
        self.task, self.x, self.told = task, [], []
        self.columns = [*task.parameters, *task.environment]
        self.num = len(task.parameters)
        self.ends = [ends(each) for each in self.columns]
        self.bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).expand(2, len(self.columns))
        self.rng = np.random.default_rng(task.seed)
        self.outcomes = [task.objective, *task.limits]
        self._fitted = None

    def tell(self, params, values):
        self.x.append([self.to_cube(each, params[each["name"]]) for each in self.columns])
        self.told.append((params, values))
        self._fitted = None

    def to_cube(self, parameter, value):
        low, high = ends(parameter)
        if parameter["kind"] == "choice":
            value = parameter["choices"].index(value)
        return ((np.log(value) if parameter.get("log") else value) - low) / (high - low)

    def from_cube(self, row):
        return {
            each["name"]: value_of(each, low + (high - low) * min(max(float(u), 0.0), 1.0))
            for each, (low, high), u in zip(self.columns, self.ends, row, strict=True)
        }

    def rounded(self, X):
        """Rows with whole numbers, steps and choices where there are such."""
        if all(each["kind"] == "float" and each["step"] is None for each in self.columns):
            return X
        rows = []
        for row in X.reshape(-1, X.shape[-1]):
            params = self.from_cube(row)
            rows.append([self.to_cube(each, params[each["name"]]) for each in self.columns])
        return torch.tensor(rows, dtype=X.dtype).reshape(X.shape)

    @property
    def X(self):
        return torch.tensor(self.x, dtype=torch.double)

    def model(self, transform=None):
        """A GP for each outcome, the values to be maximised."""
        models = []
        for name in self.outcomes:
            own = name == self.task.objective
            values = [self.goal(told) if own else told[name] for _, told in self.told]
            y = torch.tensor(values, dtype=torch.double)[:, None]
            gp = SingleTaskGP(
                self.X, y, input_transform=transform, outcome_transform=Standardize(1)
            )
            fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
            models.append(gp)
        return models[0] if len(models) == 1 else ModelListGP(*models)

    def goal(self, values):
        """The value that is modelled, larger ones being better."""
        return self.task.sign * values[self.task.objective]

    def limits(self):
        """Functions of samples of all outcomes, negative where a limit is kept."""
        found = []
        for i, limit in enumerate(self.task.limits.values(), start=1):
            if limit["low"] is not None:
                found.append(lambda Z, i=i, end=limit["low"]: end - Z[..., i])
            if limit["high"] is not None:
                found.append(lambda Z, i=i, end=limit["high"]: Z[..., i] - end)
        return found

    def search(self, acquisition, environment):
        """The row where an acquisition function is highest, environments held."""
        held = {self.num + i: u for i, u in enumerate(environment)}
        x, _ = optimize_acqf(
            acquisition,
            self.bounds,
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW_SAMPLES,
            fixed_features=held or None,
            post_processing_func=self.rounded,
        )
        return x[0]


class RobustEntrant(BoTorchEntrant):
    """Sees `copies` of every point as it may be in use."""

    def fitted(self):
        if self._fitted is None:
            drawn = self.task.draw(self.copies, self.rng)
            self._fitted = self.model(InputPerturbation(Perturbations(self, drawn)))
        return self._fitted

    @contextmanager
    def seeing(self, model, perturbations):
        """A fitted model with other copies of each point; the fit does not depend on them."""
        parts = list(model.models) if self.task.limits else [model]
        before = [each.input_transform for each in parts]
        for each in parts:
            each.input_transform = InputPerturbation(perturbations).eval()
        yield model
        for each, transform in zip(parts, before, strict=True):
            each.input_transform = transform

    def finer(self, copies):
        return Perturbations(self, self.task.draw(copies, np.random.default_rng(self.task.seed)))

    def measure(self, model, copies=None):
        copies = copies or self.copies
        share = self.task.measure.get("share")
        weighted = {}
        if self.task.limits:
            first = first_outcome
            cost = get_infeasible_cost(self.X, model, lambda Z, X=None: Z[..., 0])
            weighted["preprocessing_function"] = ConstrainedMCObjective(
                first, self.limits(), infeasible_cost=cost
            )
        name = self.task.measure["name"]
        if name in ("on-target", "yield"):  # the mean of how good a value is
            weighted["preprocessing_function"] = self.worth
        if name in ("mean", "on-target", "yield"):
            return Expectation(copies, **weighted)
        if name not in ("quantile", "cvar"):
            raise NotImplementedError(f"BoTorch has no risk measure for {name!r}")
        return (VaR if name == "quantile" else CVaR)(1 - share, copies, **weighted)

    def worth(self, Z):
        """How good values are where they should meet a target, or lie within limits (smoothed)."""
        y, measure = self.task.sign * Z[..., 0], self.task.measure
        if measure["name"] == "on-target":
            return -((y - measure["target"]) ** 2)
        told = [values[self.task.objective] for _, values in self.told]
        width, within = SMOOTHING * float(np.std(told)) + 1e-9, torch.ones_like(y)
        if "low" in measure:
            within = within * ((y - measure["low"]) / width).sigmoid()
        return within * ((measure["high"] - y) / width).sigmoid() if "high" in measure else within

    def ask(self):
        model = self.fitted()
        drawn = self.task.draw(1, self.rng)
        environment = [
            self.to_cube(each, min(max(float(drawn[each["name"]][0]), each["low"]), each["high"]))
            for each in self.task.environment
        ]
        return self.from_cube(self.next_row(model, environment))

    def next_row(self, model, environment):
        acquisition = qLogNoisyExpectedImprovement(
            model, self.X, objective=self.measure(model), prune_baseline=True
        )
        return self.search(acquisition, environment)

    def recommend(self):
        model = self.fitted()
        if self.task.limits:
            best = self.from_cube(self.within_limits(model))
        else:
            environment = [0.5] * (len(self.columns) - self.num)
            with self.seeing(model, self.finer(RECOMMENDING)) as finer:
                best = self.from_cube(self.search(self.posterior_mean(finer), environment))
        return {each["name"]: best[each["name"]] for each in self.task.parameters}

    def posterior_mean(self, model):
        if self.task.measure["name"] == "mean":
            return PosteriorMean(model, ExpectationPosteriorTransform(RECOMMENDING))
        sampler = SobolQMCNormalSampler(torch.Size([64]), seed=self.task.seed)
        return qSimpleRegret(model, sampler=sampler, objective=self.measure(model, RECOMMENDING))

    @torch.no_grad()
    def within_limits(self, model):
        """The best design of many that keeps the limits as often as is asked.

        By the largest margin that any of them keeps: without one about every second recommendation
        would miss a limit a little. Where none keeps any, the one that is closest to it. Clouds
        around the best are looked at, too.
        """
        perturbations = self.finer(WITHIN)
        several = torch.quasirandom.SobolEngine(len(self.columns), scramble=True, seed=0)
        X = torch.cat([self.X, self.rounded(several.draw(DESIGNS, dtype=torch.double))])
        lack, value = self.predicted(model, X, perturbations)
        normal = torch.Generator().manual_seed(self.task.seed)
        for width in CLOUDS:
            best = X[chosen(lack, value)]
            step = torch.randn(DESIGNS // 2, len(best), dtype=torch.double, generator=normal)
            near = self.rounded((best + width * step).clamp(0, 1))
            more = self.predicted(model, near, perturbations)
            X, value = torch.cat([X, near]), torch.cat([value, more[1]])
            lack = torch.cat([lack, more[0]], dim=1)
        return X[chosen(lack, value)]

    def predicted(self, model, X, perturbations):
        """By how much designs miss the shares asked, by margin, and the means of the objective."""
        moved = (X[:, None] + perturbations(X)).reshape(-1, 1, X.shape[-1])
        with self.seeing(model, torch.zeros(1, X.shape[-1], dtype=X.dtype)) as plain:
            posteriors = [plain.posterior(block) for block in moved.split(BLOCK)]
            shape = (len(X), WITHIN, -1)
            means = torch.cat([each.mean for each in posteriors]).reshape(shape)
            sds = torch.cat([each.variance for each in posteriors]).sqrt().reshape(shape)
        lack = torch.zeros(len(SURE), len(X), dtype=torch.double)
        sure = torch.tensor(SURE, dtype=torch.double)[:, None, None]
        for i, limit in enumerate(self.task.limits.values(), start=1):
            low = -np.inf if limit["low"] is None else limit["low"]
            high = np.inf if limit["high"] is None else limit["high"]
            margin = sure * sds[..., i]
            within = (means[..., i] - margin >= low) & (means[..., i] + margin <= high)
            lack += (limit["probability"] - within.double().mean(-1)).clamp_min(0)
        return lack, means[..., 0].mean(-1)


class KnowledgeGradientEntrant(RobustEntrant):
    """One-shot knowledge gradient of the measure; it chooses the environment as well.

    No tutorial has it with InputPerturbation: this one is ours.
    """

    def next_row(self, model, environment):
        by = {"num_fantasies": FANTASIES}
        if self.task.measure["name"] == "mean":
            by["posterior_transform"] = ExpectationPosteriorTransform(self.copies)
        else:
            by["objective"] = self.measure(model)
            by["inner_sampler"] = SobolQMCNormalSampler(
                torch.Size([INNER_SAMPLES]), seed=self.task.seed
            )
        acquisition = qKnowledgeGradient(model, **by)
        x, _ = optimize_acqf(
            acquisition, self.bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES
        )
        return self.rounded(x)[0]


class Perturbations:
    """What InputPerturbation adds to points, by the draws of a task; all from 0 to 1."""

    def __init__(self, entrant, drawn):
        self.entrant = entrant
        self.drawn = {name: torch.as_tensor(xi).double() for name, xi in drawn.items()}

    def __call__(self, X):
        copies = len(next(iter(self.drawn.values())))
        moved = []
        for i, (each, (low, high)) in enumerate(
            zip(self.entrant.columns, self.entrant.ends, strict=True)
        ):
            u = X[..., i, None]
            if each["name"] not in self.drawn:
                moved.append(torch.zeros_like(u).expand(*u.shape[:-1], copies))
                continue
            raw = low + (high - low) * u
            raw = raw.exp() if each.get("log") else raw
            raw = self.used(each, raw, self.drawn[each["name"]])
            raw = raw.log() if each.get("log") else raw
            moved.append((raw - low) / (high - low) - u)
        return torch.stack(moved, dim=-1)

    def used(self, parameter, raw, xi):
        sample = self.entrant.task.sample[parameter["name"]]
        how = sample["how"]
        if how == "substitute":
            shares = torch.tensor(sample["matrix"], dtype=torch.double).cumsum(-1)
            asked = raw.round().long().clamp(0, len(shares) - 1)[..., 0]
            return (xi[:, None] > shares[asked][..., None, :-1]).sum(-1).double()
        if how == "replace":
            return xi.expand(*raw.shape[:-1], len(xi))
        if how == "relative":
            return raw * (1 + xi)
        return raw * xi.exp() if how == "multiply" else raw + xi


def chosen(lack, value):
    """The row with the highest value among those that lack nothing, or the least."""
    kept = next((each for each in lack if each.min() <= 0), lack[-1])
    return torch.where(kept <= kept.min(), value, -torch.inf).argmax()


def first_outcome(Z, X=None):
    return Z[..., 0]


def ends(parameter):
    if parameter["kind"] == "choice":
        return 0.0, len(parameter["choices"]) - 1.0
    if parameter.get("log"):
        return float(np.log(parameter["low"])), float(np.log(parameter["high"]))
    return float(parameter["low"]), float(parameter["high"])


def value_of(parameter, number):
    """The value next to a number that a parameter may have."""
    if parameter["kind"] == "choice":
        return parameter["choices"][round(number)]
    number = float(np.exp(number)) if parameter["log"] else number
    low, high, step = parameter["low"], parameter["high"], parameter["step"]
    if step is not None:
        number = low + step * round((number - low) / step)
    number = min(max(number, low), high)
    return int(number) if parameter["kind"] == "int" else number
