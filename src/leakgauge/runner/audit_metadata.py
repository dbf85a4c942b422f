"""What a challenger declares about itself; with it, trials can be judged later without its data."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from leakgauge.catalog import PreparedAudit
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, NoControl
from leakgauge.core.guarantee import Guarantee
from leakgauge.support.table_reader import read_dataclass

MOST_TARGETS = 10**9


@dataclass(frozen=True, kw_only=True)
class ControlMetadata:
    """The digest of the positive control of an audit, or why there is none, and what it cannot show."""

    digest: str | None = None
    none: NoControl | None = None
    caveat: str | None = None


@dataclass(frozen=True, kw_only=True)
class AuditMetadata:
    """The promise, the number of targets, how membership was decided, and a digest of the data.

    ``notes`` describe how the data were read, without any value from them.
    """

    guarantee: Guarantee | None
    n_targets: int
    coins: Coins
    data: str
    notes: tuple[str, ...] = ()
    utility: dict[str, float] | None = None  # how useful the release is, where the challenger knows
    targets: str | None = None  # a digest of the data and the choice of targets, where it is known
    noise_is_stated: bool = False  # by the owner of a service, and not made here
    overfitted_knowledge: tuple[str, ...] = ()  # for which numbers with fitted thresholds are too high
    understated_knowledge: Mapping[str, str] = field(default_factory=dict)  # why its attackers clear nobody
    unread: tuple[str, ...] = ()  # what no attack reads, and nobody is cleared beside
    control: ControlMetadata | None = None  # nothing in runs from before positive controls were played

    def __post_init__(self) -> None:
        if not 1 <= self.n_targets <= MOST_TARGETS:
            raise BadInput(f"n_targets must be in 1..{MOST_TARGETS}, got {self.n_targets}")


def metadata_of(prepared: PreparedAudit, without_control: NoControl | None = None) -> AuditMetadata:
    """Return the metadata of a prepared audit; ``without_control`` says why its control is left out."""
    challenger = prepared.challenger
    control = challenger.control() if without_control is None else without_control
    return AuditMetadata(
        guarantee=challenger.guarantee,
        n_targets=challenger.n_targets,
        coins=challenger.coins,
        data=prepared.digest,
        notes=tuple(challenger.notes),
        utility=challenger.utility,
        targets=challenger.targets_digest,
        noise_is_stated=challenger.request_limits is not None,
        overfitted_knowledge=challenger.overfitted_knowledge,
        understated_knowledge=challenger.understated_by(prepared.attacks.values()),
        unread=challenger.unread,
        control=ControlMetadata(none=control)
        if isinstance(control, NoControl)
        else ControlMetadata(digest=control.digest, caveat=challenger.control_caveat),
    )


def metadata_to_json(metadata: AuditMetadata) -> dict[str, Any]:
    """Write metadata as values that JSON can hold; an infinite number becomes a string.

    >>> table = metadata_to_json(AuditMetadata(guarantee=None, n_targets=1, coins=Coins.FAIR, data="f0"))
    >>> table["guarantee"], table["n_targets"], table["coins"], table["data"], table["notes"]
    (None, 1, 'fair', 'f0', ())
    """
    table = asdict(metadata) | {"n_targets": int(metadata.n_targets), "coins": metadata.coins.value}
    return table | {"guarantee": _promise_to_json(table["guarantee"])}


def _promise_to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _promise_to_json(item) for key, item in value.items()}
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return "inf" if plain == math.inf else plain


def metadata_from_json(table: Mapping[str, Any], where: str = "facts") -> AuditMetadata:
    """Read metadata back; refuse values of other types, and numbers that no promise has."""
    return read_dataclass(
        AuditMetadata, {**table, "guarantee": _promise_from_json(table["guarantee"])}, where
    )


def _promise_from_json(value: Any) -> Any:
    match value:
        case dict():
            return {key: _promise_from_json(item) for key, item in value.items()}
        case list():
            return np.array(value, dtype=np.float64)
        case int() | float() if not value >= 0:
            raise BadInput("a promise has no negative numbers")
    return math.inf if value == "inf" else value
