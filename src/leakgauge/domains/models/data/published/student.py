"""Student performance (Cortez 2008): student-por.csv or student-mat.csv as UCI publishes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import dataset, preprocessing, published_files, user_file

FILES = {"por": "student-por.csv", "mat": "student-mat.csv"}  # the course in Portuguese, and in mathematics
GROUP, GRADE = "school", "G3"
EARLIER_GRADES = ("G1", "G2")  # grades of earlier periods, which are close to the last
PASS = 10


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folder of the file, and the course: Portuguese ("por") or mathematics ("mat").

    Without a course, it is the one whose file is in the folder, Portuguese if both are.
    """

    folder: str = "."
    course: Literal["por", "mat"] | None = None
    duplicates: preprocessing.DuplicatePolicy = "remove"

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "student performance"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The file of one course."""
        names = FILES.values() if self.course is None else [FILES[self.course]]
        return (published_files.find_file(folder / self.folder, *names),)

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """All pupils; the label is whether the last grade is 10 or more, and the school is the group."""
        found_in = user_file.read_columns(paths[0], "data.folder")
        file = paths[0].name
        published_files.require_published_columns((GROUP, GRADE, *EARLIER_GRADES), list(found_in), file)
        grade = found_in[GRADE]
        if isinstance(grade, dataset.CategoricalColumn) or np.isnan(grade).any():
            raise BadInput(f"data.folder: {GRADE!r} of {file} must be a number in each row")
        label = dataset.categorical(np.where(grade >= PASS, "pass", "fail").tolist())
        features = {name: column for name, column in found_in.items() if name not in (GRADE, *EARLIER_GRADES)}
        return dataset.RawTable(features=features, label=label, groups={}).with_groups([GROUP])
