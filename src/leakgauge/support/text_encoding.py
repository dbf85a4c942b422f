"""Recognise files that are not text in UTF-8, such as UTF-16 or a workbook, and say how to save them."""

import codecs
import gzip
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

from leakgauge.core.errors import BadInput

Encoding: TypeAlias = Literal["utf-8", "utf-16", "latin-1"]

_SAMPLE = 4096  # bytes
_PART = 1 << 20
_KINDS = {b"PK\x03\x04": "a workbook or another archive", b"\x1f\x8b": "compressed", b"PAR1": "Parquet"}


def refuse_other_encoding(path: Path, where: str, way_out: str = "save it as CSV in UTF-8") -> None:
    """Refuse a file that begins like something else than text in UTF-8; one that cannot be read is left."""
    try:
        with _open_bytes(path) as file:
            start = file.read(_SAMPLE)
    except (OSError, EOFError):
        return
    for mark, kind in _KINDS.items():
        if start.startswith(mark):
            raise BadInput(f"{where}: {path.name} is {kind}, not text; {way_out}")
    if _is_utf16(start):
        raise BadInput(f"{where}: {path.name} is in UTF-16, not in UTF-8; {way_out}")
    if b"\0" in start:
        raise BadInput(f"{where}: {path.name} is not text, but binary data; {way_out}")


def find_encoding(path: Path) -> Encoding:
    """The encoding of a text file: UTF-8 if all of it is, else UTF-16 if it begins so, else Latin-1."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _open_bytes(path) as file:
        start = file.read(_SAMPLE)
        if _is_utf16(start):
            return "utf-16"
        try:
            decoder.decode(start)
            while part := file.read(_PART):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8"


def _open_bytes(path: Path) -> BinaryIO:
    """Open a file that may be compressed."""
    return cast("BinaryIO", gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb"))


def _is_utf16(start: bytes) -> bool:
    """Whether these bytes are text in UTF-16, with its mark or without.

    >>> _is_utf16("name,age".encode("utf-16-le")), _is_utf16(bytes(range(256)))
    (True, False)
    """
    mark = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(start[:2])
    even = start[: len(start) // 2 * 2]
    texts = [even.decode(name, errors="replace") for name in ([mark] if mark else ["utf-16-le", "utf-16-be"])]
    return b"\0" in start and any(_is_readable(text) and (bool(mark) or _is_latin(text)) for text in texts)


def _is_readable(text: str) -> bool:
    """Whether all letters but a mark and one that was cut off are such as people read."""
    return sum(not letter.isprintable() and not letter.isspace() for letter in text) <= 2


def _is_latin(text: str) -> bool:
    return sum(letter < "\u0100" for letter in text) > len(text) / 2
