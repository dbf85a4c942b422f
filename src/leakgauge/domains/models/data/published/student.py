"""Student performance (Cortez 2008): student-por.csv as UCI publishes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import CategoricalColumn, RawTable, categorical
from leakgauge.domains.models.data.preprocessing import DuplicatePolicy
from leakgauge.domains.models.data.published_files import find_file, require_published_columns
from leakgauge.domains.models.data.user_file import read_columns

FILE = "student-por.csv"
GROUP, GRADE = "school", "G3"
EARLIER_GRADES = ("G1", "G2")  # grades of earlier periods, which are close to the last
PASS = 10


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folder of the file."""

    folder: str = "."
    duplicates: DuplicatePolicy = "remove"

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "student performance"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The file of the Portuguese course."""
        return (find_file(folder / self.folder, FILE),)

    def read(self, paths: Sequence[Path]) -> RawTable:
        """All pupils; the label is whether the last grade is 10 or more, and the school is the group."""
        found_in = read_columns(paths[0], "data.folder")
        require_published_columns((GROUP, GRADE, *EARLIER_GRADES), list(found_in), FILE)
        grade = found_in[GRADE]
        if isinstance(grade, CategoricalColumn) or np.isnan(grade).any():
            raise BadInput(f"data.folder: {GRADE!r} of {FILE} must be a number in each row")
        label = categorical(np.where(grade >= PASS, "pass", "fail").tolist())
        features = {name: column for name, column in found_in.items() if name not in (GRADE, *EARLIER_GRADES)}
        return RawTable(features=features, label=label, groups={}).with_groups([GROUP])
