"""What every reader of a published data set can do."""

from collections.abc import Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from leakgauge.domains.models.table.preparing import Duplicates
from leakgauge.domains.models.table.sheet import Sheet


class Published(Protocol):
    """The `data` table of a plan that names a published data set, read from its files as they are."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def duplicates(self) -> Duplicates: ...

    @property
    def name(self) -> str:
        """What reports call the data."""
        ...

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The files it needs, below a folder; one that is not there is refused."""
        ...

    def read(self, paths: Sequence[Path]) -> Sheet:
        """What those files hold."""
        ...
