"""Verdicts as verdicts.json holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from leakgauge.referee.estimate import Estimate
from leakgauge.verdict import Finding, Verdict

SCHEMA = 1


def to_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Write verdicts as verdicts.json holds them; what is missing or infinite becomes null."""
    return {"schema": SCHEMA, "verdicts": [_plain(asdict(verdict)) for verdict in verdicts]}


def from_json(content: Mapping[str, Any]) -> list[Verdict]:
    """Read verdicts back."""
    return [
        Verdict(
            **{
                **table,
                "metrics": {name: Estimate(**estimate) for name, estimate in table["metrics"].items()},
                "finding": None if table["finding"] is None else Finding(table["finding"]),
            }
        )
        for table in content["verdicts"]
    ]


def _plain(value: Any) -> Any:
    """Return the value as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
