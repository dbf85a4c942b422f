"""Blind control: what a fixed group of members reveals before anything is released."""

from dataclasses import dataclass
from math import sqrt

from numpy.random import Generator

from leakgauge.domains.models.games.member_split import MemberSplit
from leakgauge.domains.models.property_inference import record_component
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.support.cache import RecentCache

_MIN_RECORDS = 20  # members, and others, to train on and to evaluate on
_control_cache: RecentCache["BlindControl"] = RecentCache(16)


@dataclass(frozen=True, kw_only=True)
class BlindControl:
    """The advantage of an attacker who sees records but no model, evaluated on rows not used for training."""

    advantage: float
    error: float  # standard error of it

    @property
    def note(self) -> str:
        """The note for reports."""
        low, high = (self.advantage + 2 * sign * self.error for sign in (-1, 1))
        return (
            "Blind control: the group of members is fixed, so a record alone may reveal its membership. An "
            "attacker who knows rows of both kinds and sees no model has an advantage (TPR - FPR) of about "
            f"{self.advantage:.3f} ({max(low, -1.0):.3f} to {min(high, 1.0):.3f}); compare attacks on the "
            "model with that"
        )


def blind_control(
    table: Examples, split: MemberSplit, identity: object, rng: Generator
) -> BlindControl | None:
    """Train a classifier of members against others by the record alone; None where there are too few.

    ``identity`` identifies the split: the result for the same one is reused.
    """
    few = min(split.members.size, split.others.size)
    if few < 2 * _MIN_RECORDS:
        return None

    def measure() -> BlindControl:
        classifier = record_component.fit_record_classifier(
            (table.take(split.members), table.take(split.others)), rng
        )
        held = few / record_component.HELD_OUT_EVERY  # of the scarcer kind
        error = 2 * sqrt(max(classifier.accuracy * (1 - classifier.accuracy), 1 / held) / held)
        return BlindControl(advantage=2 * classifier.accuracy - 1, error=error)

    return _control_cache.once(identity, measure)
