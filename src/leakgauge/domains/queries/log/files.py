"""The files that a query log consists of."""

from dataclasses import dataclass
from pathlib import Path

from leakgauge.core.errors import BadInput

LOG, CONTAINS, DATA = "--query-log", "--contains", "--data"
DELTA = 1e-5  # at which epsilon of Gaussian answers is told, unless said otherwise


@dataclass(frozen=True)
class Files:
    """Queries, perhaps which records each contains, perhaps the table that was asked and its ids."""

    log: Path
    contains: Path | None = None
    data: Path | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        if self.id is not None and self.data is None:
            raise BadInput(f"--id names a column of the table; give the table too: {DATA} FILE")
