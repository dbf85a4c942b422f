"""How well an attacker would do against each person, computed instead of simulated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput

OWN = "accuracy_own"  # the metric that is at the threshold of the attack, as in a run
EXPOSURE_METRICS = ("accuracy", "auc", "tpr_at_fpr_0.01")
_SAME = 5e-4  # accuracies that differ by less are shown as one
SMALLEST_GROUP = 10  # records or people, for a group to be shown
RECOGNISED_ACCURACY = 0.9  # right guesses about somebody, from which on they count as recognised


@dataclass(frozen=True, eq=False, kw_only=True)
class AdversaryExposure:
    """How well one attacker does against each person: one number per person.

    Attributes:
        adversary: The name of what the attacker knows.
        basis: How the numbers were computed, in words.
        accuracy: The share of right guesses about each person, at the best threshold: limits count it.
        auc: The area under the ROC curve for each person.
        tpr: The share of members found, where 1 % of non-members are wrongly accused.
        error: The largest numerical error of these numbers, as far as it is known.
        own_accuracy: The same at the threshold that the attack fixes itself, where both are known.
        own_error: The largest numerical error of that: larger, where scores lie close to the threshold.
        split_accuracy: Where several random draws were tried (splits of the people into pool and reference,
            or releases), the accuracy with each: draws x people. The other numbers are then means.
    """

    adversary: str
    basis: str
    accuracy: Reals
    auc: Reals
    tpr: Reals
    error: float
    own_accuracy: Reals | None = None
    own_error: float = 0.0
    split_accuracy: Reals | None = None

    @property
    def accuracies(self) -> Reals:
        """The accuracy against each person: a row for each split of the people."""
        return self.accuracy[None] if self.split_accuracy is None else self.split_accuracy

    def metric(self, name: str) -> Reals:
        """Return the numbers of a metric by its name."""
        own = self.accuracy if self.own_accuracy is None else self.own_accuracy
        return {OWN: own, "accuracy": self.accuracy, "auc": self.auc, "tpr_at_fpr_0.01": self.tpr}[name]

    def limited(self, name: str) -> float | None:
        """What a limit on a metric is compared with: the mean over people, or the largest number.

        Nothing where it is not computed.
        """
        if name == "accuracy_worst":
            return float(self.accuracy.max())
        mean_of = name.removesuffix("_mean")
        return float(self.metric(mean_of).mean()) if mean_of in EXPOSURE_METRICS else None


@dataclass(frozen=True, eq=False, kw_only=True)
class PersonalGuarantees:
    """What the mechanism promises to each person.

    Attributes:
        nominal: The stated epsilon, which protects one `unit`.
        unit: What the stated epsilon protects, such as one visit.
        delta: The delta at which the following hold for each person, who may own many units.
        kairouz: Epsilon for each person, composed from the promise to each unit (Kairouz et al. 2015).
        tight: Epsilon for each person, from the noise distribution.
        achieved: The epsilon that the noise gives the same unit as `nominal`.
        part: The epsilon that the noise gives each part, from which `kairouz` is composed.
        releases: How many releases the numbers of each person are over; `nominal` is about one of them.
        replaces: Whether somebody else takes the place of a person, whose cells are then counted too.
    """

    nominal: float
    unit: str
    delta: Reals
    kairouz: Reals
    tight: Reals
    achieved: float | None = None
    part: float | None = None
    releases: int = 1
    replaces: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class SpentBudgets:
    """What the answers in a log have already cost each record.

    Attributes:
        epsilon: Epsilon of all answers that contain the record, added up, at `delta`.
        delta: Delta of each record.
        tight: Epsilon of the same answers by tight composition, at `tight_delta`; never larger.
        tight_delta: The delta of `tight`, the same for all records.
        queries: The ids of the queries.
        top: The costliest queries of each record, as positions in `queries`; -1 for none.
        top_epsilon: What each of those cost alone.
    """

    epsilon: Reals
    delta: Reals
    tight: Reals
    tight_delta: float
    queries: npt.NDArray[np.str_]
    top: npt.NDArray[np.int64]
    top_epsilon: Reals


@dataclass(frozen=True, kw_only=True)
class GroupExposure:
    """How exposed those are, on average, who have a property in common, such as a label.

    Attributes:
        group: What they have in common, such as the name of a column.
        value: Which value of it.
        people: How many they are.
        accuracy: The mean accuracy of the strongest attacker against them.
        tpr: The mean share of members found among them, where 1 % of non-members are wrongly accused.
    """

    group: str
    value: str
    people: int
    accuracy: float
    tpr: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Exposure:
    """How exposed everybody in the data of one audit is, or every record by the answers in a query log.

    Attributes:
        names: The identifier of each person or record, for the owner of the data alone.
        cells: How many counts, or answers of a log, each of them affects; None where that has no meaning.
        against: How well each attacker does, the strongest first.
        notes: What the numbers are based on.
        setting: Where the numbers hold, if not for the table of everyone: "in random groups of 1,000".
        promised: What is promised to each person; None where there is no noise.
        spent: What the answers of a log have cost each record; None for a plan.
        utility: How useful the release is, by name; None where that is not known.
        unit: Whose exposure it is: that of a person or of a record.
        columns: Further numbers of each person or record by name, for the owner of the data alone.
        groups: Who is exposed, by properties that many have in common.
        secret_bits: How many bits of a secret column the answers of a log give away, as shares by name, and
            sentences that say so; None where that was not asked.
    """

    names: npt.NDArray[np.str_]
    cells: npt.NDArray[np.int64] | None
    against: tuple[AdversaryExposure, ...]
    notes: tuple[str, ...] = ()
    setting: str = ""
    promised: PersonalGuarantees | None = None
    spent: SpentBudgets | None = None
    utility: dict[str, float] | None = None
    unit: Literal["person", "record"] = "person"
    columns: Mapping[str, Reals] = field(default_factory=dict)
    groups: tuple[GroupExposure, ...] = ()
    secret_bits: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        columns = [
            *([] if self.cells is None else [self.cells]),
            *self.columns.values(),
            *(attacker.metric(name) for attacker in self.against for name in self.metrics),
        ]
        if self.promised is not None:
            columns += [self.promised.delta, self.promised.kairouz, self.promised.tight]
        if self.spent is not None:
            columns += [self.spent.epsilon, self.spent.delta, self.spent.tight]
        if odd := [column.size for column in columns if column.shape != self.names.shape]:
            raise BadInput(f"an exposure needs numbers for each of {self.names.size} people, got {odd[0]}")

    def __repr__(self) -> str:
        """How much there is, without names or numbers of anybody: a log must not show them."""
        return f"Exposure({self.counts})"

    @property
    def counts(self) -> str:
        """How many people or records, and against whom, in words.

        >>> Exposure(names=np.array(["Ada"]), cells=None, against=()).counts
        '1 person against no attacker'
        """
        units = "people" if self.unit == "person" else "records"
        attackers = ", ".join(against.adversary for against in self.against)
        unit = self.unit if self.n_people == 1 else units
        return f"{self.n_people:,} {unit} against {attackers or 'no attacker'}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The numbers about each person by name, the leading one first."""
        known = (one for one in self.against if one.own_accuracy is not None)
        differ = any(not np.allclose(one.metric(OWN), one.accuracy, atol=_SAME) for one in known)
        return (OWN, *EXPOSURE_METRICS) if differ else EXPOSURE_METRICS

    @property
    def n_people(self) -> int:
        return int(self.names.size)

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Positions from the most to the least exposed, by accuracy, AUC and TPR; the first attacker decides.

        Of records that are equally exposed, the one whose answers have cost more comes first.
        """
        keys = [
            -values
            for attacker in reversed(self.against)
            for values in (attacker.tpr, attacker.auc, attacker.accuracy)
        ]
        return np.lexsort(keys if self.spent is None else [-self.spent.epsilon, *keys])
