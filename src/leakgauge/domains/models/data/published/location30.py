"""Location-30 (Shokri et al. 2017): profiles of people in Bangkok by where they checked in, 30 classes."""

import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data import dataset, preprocessing, published_files

ARCHIVE, UNPACKED = "dataset_location.tgz", "bangkok"


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """The folder of the archive."""

    folder: str = "."
    duplicates: preprocessing.DuplicatePolicy = "remove"

    @property
    def name(self) -> str:
        """The name of the data set in reports."""
        return "Location-30"

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The archive, or the one file in it."""
        return (published_files.find_file(folder / self.folder, ARCHIVE, UNPACKED),)

    def read(self, paths: Sequence[Path]) -> dataset.RawTable:
        """All profiles: the first value of a line is the class, and all others are 0 or 1."""
        (path,) = paths
        text = _unpacked(path) if path.name.endswith(".tgz") else path.read_bytes()
        try:
            values = np.loadtxt(io.BytesIO(text), delimiter=",", quotechar='"', ndmin=2)
        except (ValueError, UnicodeError) as error:
            raise BadInput(
                f"data.folder: {path.name} cannot be read: {error}; check that it is complete"
            ) from None
        if not np.isin(values[:, 1:], (0, 1)).all():
            raise BadInput(
                f"data.folder: {path.name} holds other features than 0 and 1; check that it is Location-30"
            )
        features: dict[str, dataset.TableColumn] = {f"f{i}": values[:, i] for i in range(1, values.shape[1])}
        return dataset.RawTable(
            features=features, label=dataset.categorical(f"{code:02.0f}" for code in values[:, 0]), groups={}
        )


def _unpacked(path: Path) -> bytes:
    """The only file of an archive, read without writing anything."""
    try:
        with tarfile.open(path) as archive:
            inside = [member for member in archive.getmembers() if member.isfile()]
            if len(inside) == 1 and (file := archive.extractfile(inside[0])) is not None:
                return file.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise BadInput(
            f"data.folder: {path.name} cannot be read: {error}; check that it is complete"
        ) from None
    raise BadInput(
        f"data.folder: {path.name} holds {len(inside)} files, not one; check that it is Location-30"
    )
