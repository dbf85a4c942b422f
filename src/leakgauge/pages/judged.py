"""A judged run: what the sections of a report are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdicts of a run and its manifest; of the latter, any entry may be missing."""

    verdicts: Sequence[Verdict]
    manifest: Mapping[str, Any]
