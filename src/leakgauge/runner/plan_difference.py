"""What differs between two audits of the same name, in words for people."""

from collections.abc import Iterator, Mapping
from typing import Any

from leakgauge import catalog
from leakgauge.plan import Audit, Contender

MOST_KEYS = 6  # that are listed
_LONGEST_VALUE = 30  # characters; of longer values only the key is listed
_ABSENT = object()


def audit_differences(now: Audit, before: Audit) -> list[str]:
    """List the keys in which two audits differ, with short values before and now; nothing private is shown.

    Attackers that only one of them has are not listed.
    """
    found = list(_differing_keys(_shown_tables(before), _shown_tables(now)))
    hidden = [
        name
        for name in ("data", "challenger", "mechanism")
        if vars(now)[name] != vars(before)[name] and not any(key.startswith(name) for key in found)
    ]
    earlier = {contender.label: contender for contender in before.contenders}
    changed = [who.label for who in now.contenders if who.label in earlier and earlier[who.label] != who]
    return [*found, *hidden, *(f"the attack of {label}" for label in changed)]


def as_list(keys: list[str]) -> str:
    """Join keys; the last of many are only counted."""
    more = len(keys) - MOST_KEYS
    return ", ".join(keys) if more <= 0 else f"{', '.join(keys[:MOST_KEYS])} and {more} more"


def only_in(these: Mapping[str, Contender], those: Mapping[str, Contender]) -> list[str]:
    """The labels that only the first have."""
    return [label for label in these if label not in those]


def _shown_tables(audit: Audit) -> dict[str, Any]:
    return {
        "data": audit.data,
        "challenger": catalog.redacted_challenger(audit.domain, audit.challenger),
        "mechanism": audit.mechanism,
        "rounds": audit.rounds,
        "stop": audit.stop.value,
        "metrics.confidence": audit.metrics.confidence,
    }


def _differing_keys(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key in dict.fromkeys([*before, *now]):
        old, new, name = before.get(key, _ABSENT), now.get(key, _ABSENT), f"{prefix}{key}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differing_keys(old, new, f"{name}.")
        elif old is _ABSENT or new is _ABSENT or old != new:
            values = f"{_short(old)} before, {_short(new)} now"
            yield f"{name} ({values})" if "…" not in values else name


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "none"
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else "…"
