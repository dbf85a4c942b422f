"""COMPAS (Larson et al. 2016): compas-scores-two-years.csv as ProPublica publishes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.domains.models.data import dataset, preprocessing, published_files
from leakgauge.support.tabular import open_table_file

FILE = "compas-scores-two-years.csv"
TEXTS = ("c_charge_degree", "race", "age_cat", "sex")
NUMBERS = ("age", "priors_count", "days_b_screening_arrest")
AGAIN, LABEL = "is_recid", "two_year_recid"
KEPT = "abs(days_b_screening_arrest) <= 30 AND is_recid <> -1 AND c_charge_degree <> 'O'"


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folder of the file, and the text columns that are groups.

    ``is_recid`` is whether a person was charged again at any time, which almost reveals the label, whether it
    was within two years; the paper has it among the features.
    """

    folder: str = "."
    group: str | tuple[str, ...] = ()
    is_recid: bool = False
    duplicates: preprocessing.DuplicatePolicy = "remove"

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "COMPAS"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The one file."""
        return (published_files.find_file(folder / self.folder, FILE),)

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """The 6,172 rows of ProPublica's analysis, and the 7 or 8 columns of Humphries et al. (2023)."""
        numbers = (*NUMBERS, AGAIN)
        with open_table_file(paths[0], "data.folder") as (connection, types):
            published_files.require_published_columns((*TEXTS, *numbers, LABEL), list(types), FILE)
            typed = [f"CAST({name} AS VARCHAR) AS {name}" for name in (*TEXTS, LABEL)]
            typed += [f"CAST({name} AS DOUBLE) AS {name}" for name in numbers]
            kept = connection.execute(f"SELECT {', '.join(typed)} FROM given WHERE {KEPT}").fetchnumpy()
        features: dict[str, dataset.TableColumn] = {
            name: dataset.categorical(_texts(kept[name])) for name in TEXTS
        }
        for name in numbers if self.is_recid else NUMBERS:
            features[name] = np.ma.filled(kept[name], np.nan).astype(np.float64)
        sheet = dataset.RawTable(features=features, label=dataset.categorical(_texts(kept[LABEL])), groups={})
        return sheet.with_groups(dataset.as_tuple(self.group))


def _texts(column: npt.NDArray[Any]) -> list[str | None]:
    lost = np.ma.getmaskarray(column)
    return [None if gone else str(text) for text, gone in zip(np.ma.getdata(column).tolist(), lost)]
