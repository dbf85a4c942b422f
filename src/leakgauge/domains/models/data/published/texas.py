"""Hospital stays in Texas: the public use data file (PUDF) of a quarter as the state publishes it."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import dataset, preprocessing, published_files
from leakgauge.support.tabular import Connection, duckdb_error_line, open_database

REGION, PROCEDURE = "PUBLIC_HEALTH_REGION", "PRINC_SURG_PROC_CODE"
GROUP, NOTHING = "region", "NA"
FACILITY = ("TEACHING", "PSYCH", "REHAB", "ACUTE_CARE", "SNF", "LONG_TERM_AC", "OTHER_LTC", "PEDS")
TEXTS = (
    *(f"FAC_{kind}_IND" for kind in FACILITY),
    "SEX_CODE", "TYPE_OF_ADMISSION", "SOURCE_OF_ADMISSION", "PAT_STATE", "PAT_COUNTRY", "ADMIT_WEEKDAY",
    "PAT_STATUS", "RACE", "ETHNICITY", "FIRST_PAYMENT_SRC", "SECONDARY_PAYMENT_SRC", "TYPE_OF_BILL",
    "HCFA_MDC", "APR_MDC", "CERT_STATUS",
)  # fmt: skip
CHARGES = (
    "PRIVATE", "SEMI_PRIVATE", "WARD", "ICE", "CCU", "OTHER", "PHARM", "MEDSURG", "DME", "USED_DME", "PT",
    "OT", "SPEECH", "IT", "BLOOD", "BLOOD_ADM", "OR", "LITH", "CARD", "ANES", "LAB", "RAD", "MRI", "OP", "ER",
    "AMBULANCE", "PRO_FEE", "ORGAN", "ESRD", "CLINIC",
)  # fmt: skip
TOTALS = tuple(
    f"TOTAL_{kind}{of}" for of in ("", "_ACCOMM", "_ANCIL") for kind in ("CHARGES", "NON_COV_CHARGES")
)
NUMBERS = (
    "ENCOUNTER_INDICATOR", "LENGTH_OF_STAY", "PAT_AGE", *(f"{kind}_AMOUNT" for kind in CHARGES), *TOTALS,
    "PRINC_SURG_PROC_DAY", "RISK_MORTALITY", "ILLNESS_SEVERITY",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folder of the files of one or more quarters, and the number of procedures that are classes."""

    folder: str = "."
    procedures: int = 100
    duplicates: preprocessing.DuplicatePolicy = "remove"

    def __post_init__(self) -> None:
        if not self.procedures >= 2:
            raise BadInput(f"procedures must be >= 2, got {self.procedures}; 100 are usual")

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "Texas hospital stays"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The files of all quarters, such as PUDF_base1q2006_tab.txt."""
        place = folder / self.folder
        paths = sorted(
            path for path in place.glob("PUDF_base*") if path.name.endswith(("_tab.txt", "_tab.txt.gz"))
        )
        if not paths:
            raise BadInput(f"data.folder: there is no file PUDF_base..._tab.txt (nor with .gz) in {place}")
        return tuple(paths)

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """Stays with one of the most frequent principal procedures, the class; the region is the group.

        The 66 columns, and NA or 0 for what is missing, are those of Humphries et al. (2023), after Shokri et
        al. (2017). Codes are texts: 03 is a region, 3 is not.
        """
        with open_database() as connection:
            _import(connection, paths)
            chosen = connection.execute(
                f"SELECT {PROCEDURE} FROM stays WHERE {PROCEDURE} IS NOT NULL GROUP BY 1 "
                f"ORDER BY count(*) DESC, 1 LIMIT {self.procedures}"
            ).fetchall()
            connection.execute(
                f"DELETE FROM stays WHERE {PROCEDURE} IS NULL OR NOT list_contains(?, {PROCEDURE})",
                [[code for (code,) in chosen]],
            )
            features: dict[str, dataset.TableColumn] = {
                name: dataset.categorical(_texts(connection, name)) for name in TEXTS
            }
            for name in NUMBERS:
                query = f"SELECT coalesce(TRY_CAST({name} AS DOUBLE), 0) AS it FROM stays"
                features[name] = np.ma.filled(connection.execute(query).fetchnumpy()["it"], 0).astype(
                    np.float64
                )
            groups = {GROUP: dataset.categorical(_texts(connection, REGION))}
            label = dataset.categorical(_texts(connection, PROCEDURE))
        return dataset.RawTable(features=features, label=label, groups=groups)


def _import(connection: Connection, paths: Sequence[Path]) -> None:
    import duckdb

    form = "delim = '\t', header = true, all_varchar = true, quote = '', escape = '', comment = ''"
    reader = f"read_csv(?, union_by_name = true, {form})"
    names = [glob.escape(str(path)) for path in paths]
    wanted = (*TEXTS, *NUMBERS, REGION, PROCEDURE)
    try:
        schema = connection.execute(f"DESCRIBE SELECT * FROM {reader}", [names]).fetchall()
        published_files.require_published_columns(wanted, [column for column, *_ in schema], paths[0].name)
        # published files pad values with blanks
        kept = ", ".join(f"nullif(trim({name}), '') AS {name}" for name in wanted)
        connection.execute(f"CREATE TABLE stays AS SELECT {kept} FROM {reader}", [names])
    except duckdb.Error as error:
        raise BadInput(f"data.folder: {paths[0].name} cannot be read: {duckdb_error_line(error)}") from None


def _texts(connection: Connection, name: str) -> list[str]:
    return [
        text for (text,) in connection.execute(f"SELECT coalesce({name}, '{NOTHING}') FROM stays").fetchall()
    ]
