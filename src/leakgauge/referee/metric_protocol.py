"""What a metric is: a number computed from trials, and the words by which the report presents it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from leakgauge.core.arrays import Bits
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee.estimate import Estimate


class MetricDescription(Protocol):
    """How the report presents a metric; a metric declares what differs from the defaults below."""

    @property
    def title(self) -> str:
        """Heading of its column, and its entry in the glossary."""
        ...

    @property
    def meaning(self) -> str:
        """What the number says, as a phrase without a full stop."""
        ...

    @property
    def rank(self) -> int:
        """Position among the metrics in tables and in the glossary; smaller comes first."""
        ...

    @property
    def title_in_sentence(self) -> str:
        """The title inside a sentence."""
        return self.title if self.title[:2].isupper() else self.title[0].lower() + self.title[1:]

    @property
    def is_share(self) -> bool:
        """Whether it is written as a percentage."""
        return False

    @property
    def is_lower_bound(self) -> bool:
        """Whether the low end of its interval is what counts, and there is no high end."""
        return False

    @property
    def chance_level(self) -> float | None:
        """What blind guessing reaches, where a chart is to mark that."""
        return None

    @property
    def mean_of(self) -> str | None:
        """The metric of which this one is the mean over targets, if it is one."""
        return None

    @property
    def worst_of(self) -> str | None:
        """The metric of which this one is the largest value of any target, if it is one."""
        return None

    @property
    def limited_as(self) -> str | None:
        """The metric whose limit applies to this one; nothing where it can have a limit of its own."""
        return None


class RateMetric(MetricDescription, Protocol):
    """A number of trials that is not a bound on epsilon, such as a share of right guesses.

    The class ``Metric`` of a file in ``leakgauge.referee.metrics`` inherits from this one, or from
    ``EpsilonMetric``.
    """

    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The names of the metrics in the file, with their parameters; empty: one, named like the file."""

    on_request: ClassVar[str | None] = None
    """The key of a plan's metrics that asks for it; nothing for a metric that is always computed."""

    pools_trials: ClassVar[bool] = False
    """Whether it takes all trials together, without comparing releases or following targets over rounds."""

    fits_threshold: ClassVar[bool] = True
    """Whether it chooses thresholds on counted rounds or compares their scores; an own threshold does not."""

    has_sequence: ClassVar[bool] = False
    """Whether it has bounds that may be read at any time, also when the result decides on more rounds."""

    def __call__(self, trials: Trials) -> Estimate: ...

    def sequence(self, trials: Trials, block: int) -> Estimate:
        """The estimate with bounds that may be read after every block of so many rounds."""
        raise BadInput("it has no bounds that may be read at any time")

    def threshold_loss(self, trials: Trials) -> float:
        """At most how much is lost by thresholds that were chosen on few rounds; 0 where none is chosen."""
        return 0.0


class EpsilonMetric(MetricDescription, Protocol):
    """A lower confidence bound on epsilon; a plan chooses one, and verdicts call it ``epsilon``."""

    title: ClassVar[str] = "ε shown"
    title_in_sentence: ClassVar[str] = "ε"
    meaning: ClassVar[str] = (
        "the smallest ε that could still explain how well the attacker did: a lower bound"
    )
    rank: ClassVar[int] = 10
    is_lower_bound: ClassVar[bool] = True

    fair_coins_only: ClassVar[bool] = False
    """Whether it assumes that fair coins decided membership."""

    def __call__(self, trials: Trials) -> Estimate: ...

    def lows(self, trials: Trials, worlds: Iterable[Bits]) -> list[float]:
        """Bounds of the same scores, had membership been that of each world."""
        return [self(replace(trials, members=members)).low or 0.0 for members in worlds]

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial, with these counts.

        ``shared_rounds`` says whether any two of the trials share a release.
        """
        ...
