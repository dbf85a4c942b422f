"""Recognise files that are not text in UTF-8, such as UTF-16 or a workbook, and say how to save them."""

import gzip
from pathlib import Path

from leakgauge.core.errors import BadInput

_SAMPLE = 4096  # bytes
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_KINDS = {b"PK\x03\x04": "a workbook or another archive", b"\x1f\x8b": "compressed", b"PAR1": "Parquet"}


def refuse_other_encoding(path: Path, where: str, way_out: str = "save it as CSV in UTF-8") -> None:
    """Refuse a file that begins like something else than text in UTF-8; one that cannot be read is left."""
    try:
        packed = path.name.lower().endswith(".gz")
        with gzip.open(path) if packed else path.open("rb") as file:
            start = file.read(_SAMPLE)
    except (OSError, EOFError):
        return
    for mark, kind in _KINDS.items():
        if start.startswith(mark):
            raise BadInput(f"{where}: {path.name} is {kind}, not text; {way_out}")
    if start.startswith(_UTF16_MARKS) or b"\0" in start:
        raise BadInput(f"{where}: {path.name} is in UTF-16, not in UTF-8; {way_out}")
