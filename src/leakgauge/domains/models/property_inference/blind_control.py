"""What a fixed member group gives away before anything is released: the control beside a result."""

from dataclasses import dataclass
from math import sqrt

from numpy.random import Generator

from leakgauge.domains.models.games.member_split import MemberSplit
from leakgauge.domains.models.property_inference import record_component
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.support.cache import RecentCache

_MIN_RECORDS = 20  # members, and others, to learn from and to count on
_control_cache: RecentCache["BlindControl"] = RecentCache(16)


@dataclass(frozen=True, kw_only=True)
class BlindControl:
    """The advantage of somebody who sees records but no model, learned on some rows and counted on others."""

    advantage: float
    error: float  # standard error of it

    @property
    def words(self) -> str:
        """For a report."""
        low, high = (self.advantage + 2 * sign * self.error for sign in (-1, 1))
        return (
            "Blind control: the member group is fixed, so a record alone may tell of its membership. Whoever "
            "knows rows of both kinds and sees no model reaches an advantage (TPR - FPR) of about "
            f"{self.advantage:.3f} ({max(low, -1.0):.3f} to {min(high, 1.0):.3f}); compare attacks on the "
            "model with that"
        )


def blind_control(
    table: Examples, split: MemberSplit, identity: object, rng: Generator
) -> BlindControl | None:
    """Learn to tell the members of a split from its others by the record alone; nothing where they are few.

    ``identity`` says what the split is made of: the same one is not measured again.
    """
    few = min(split.members.size, split.others.size)
    if few < 2 * _MIN_RECORDS:
        return None

    def measure() -> BlindControl:
        found = record_component.fit_record_classifier(
            (table.take(split.members), table.take(split.others)), rng
        )
        held = few / record_component.HELD_OUT_EVERY  # of the scarcer kind
        error = 2 * sqrt(max(found.accuracy * (1 - found.accuracy), 1 / held) / held)
        return BlindControl(advantage=2 * found.accuracy - 1, error=error)

    return _control_cache.once(identity, measure)
