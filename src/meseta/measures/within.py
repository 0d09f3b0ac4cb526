"""A measure of values that cannot lie beyond limits."""

from dataclasses import dataclass

from meseta.measures.measure import Measure, Rho, Room, Values, Weights


@dataclass(frozen=True)
class Within(Measure):
    """The same measure, of values that are moved to the nearest possible one."""

    measure: Measure
    low: float
    high: float

    @property
    def around_mean(self) -> bool:
        return False  # the mean of f(x + xi) is that of values that are not moved

    @property
    def tail(self) -> float:
        return self.measure.tail

    def of(self, values: Values, weights: Weights) -> Rho:
        return self.measure.of(values.clamp(self.low, self.high), weights)

    def exactly(self, values: Values, weights: Weights) -> Rho:
        return self.measure.exactly(values.clamp(self.low, self.high), weights)

    @property
    def room(self) -> Room | None:
        room = self.measure.room
        return None if room is None else lambda values: room(values.clamp(self.low, self.high))

    def nominal(self, mean: Rho, variance: Rho) -> Rho:
        return self.measure.nominal(mean.clamp(self.low, self.high), variance)

    def in_words(self) -> str:
        return self.measure.in_words()
