"""Entrants for tests of the arena: a good one, and bad ones made from it."""

GOOD = """
import numpy as np
class Entrant:
    title = "Fake"
    settings = "none"
    boards = ("mean", "risk", "constraints")
    def __init__(self, task):
        self.task, self.told = task, []
        self.rng = np.random.default_rng(task.seed)
    def ask(self):
        asked = [*self.task.parameters, *self.task.environment]
        return {each["name"]: self.value(each) for each in asked}
    def value(self, each):
        if each["kind"] == "choice":
            return each["choices"][0]
        if each["step"] is not None:
            return each["low"]
        return self.rng.uniform(each["low"], each["high"])
    def tell(self, params, values):
        self.told.append((self.task.sign * values[self.task.objective], params))
    def recommend(self):
        best = max(self.told, key=lambda told: told[0])[1]
        return {each["name"]: best[each["name"]] for each in self.task.parameters}
"""


def entrant(folder, name="fake", *, method="", **attributes):
    """Write the file of an entrant; `method` replaces one of the good one's."""
    lines = "".join(f"    {key} = {value!r}\n" for key, value in attributes.items())
    indented = "".join(f"    {line}\n" for line in method.strip().splitlines())
    (folder / f"{name}.py").write_text(GOOD + lines + indented, encoding="utf-8")
    return folder / f"{name}.py"
