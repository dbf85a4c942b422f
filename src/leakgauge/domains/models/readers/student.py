"""Student performance (Cortez 2008): student-por.csv as UCI publishes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.settings import require
from leakgauge.domains.models.readers.files import found
from leakgauge.domains.models.table.preparing import Duplicates
from leakgauge.domains.models.table.reading import columns_of
from leakgauge.domains.models.table.sheet import Category, Sheet, category

FILE = "student-por.csv"
GROUP, GRADE = "school", "G3"
EARLIER = ("G1", "G2")  # grades of earlier periods, which are close to the last
PASS = 10


@dataclass(frozen=True, kw_only=True)
class Table:
    """Which folder holds the file."""

    folder: str = "."
    duplicates: Duplicates = "remove"

    @property
    def name(self) -> str:
        """What reports call the data."""
        return "student performance"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The file of the Portuguese course."""
        return (found(folder / self.folder, FILE),)

    def read(self, paths: Sequence[Path]) -> Sheet:
        """All pupils; the label is whether the last grade is 10 or more, and the school is the group."""
        found_in = columns_of(paths[0], "data.folder")
        for name in (GROUP, GRADE, *EARLIER):
            require(name, list(found_in), f"data.folder: {FILE} lacks a column; none")
        grade = found_in[GRADE]
        if isinstance(grade, Category) or np.isnan(grade).any():
            raise BadInput(f"data.folder: {GRADE!r} of {FILE} must be a number in each row")
        label = category(np.where(grade >= PASS, "pass", "fail").tolist())
        features = {name: column for name, column in found_in.items() if name not in (GRADE, *EARLIER)}
        return Sheet(features=features, label=label, groups={}).grouped([GROUP])
