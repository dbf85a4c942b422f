"""Features of a GeoJSON file one after the other, so that the file may be larger than memory."""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from leakgauge.core.errors import BadInput

CHUNK = 1 << 20  # characters
LONGEST = 16 * CHUNK  # of one feature

_FEATURES = re.compile(r'"features"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,\x1e]*")


def features(text: TextIO, where: str) -> Iterator[Any]:
    """Yield the features of a collection, of a list, or of a file with one after the other.

    >>> import io
    >>> list(features(io.StringIO('{"type": "FeatureCollection", "features": [{"id": 1}, {"id": 2}]}'), "x"))
    [{'id': 1}, {'id': 2}]
    """
    decoder = json.JSONDecoder()
    buffer = text.read(CHUNK)
    position, bracketed = _opening(decoder, buffer)
    n_read = 0
    while True:
        position = _after_space(buffer, position)
        if bracketed and buffer.startswith("]", position):
            return
        try:
            feature, position = decoder.raw_decode(buffer, position)
        except json.JSONDecodeError as error:
            more = text.read(CHUNK)
            if not more and position == len(buffer) and not bracketed:
                return
            if not more or len(buffer) - position > LONGEST:
                told = f"{where}: feature {n_read + 1} is no JSON ({error.msg})"
                raise BadInput(f"{told}; the file may be cut off or damaged") from None
            buffer, position = buffer[position:] + more, 0
            continue
        n_read += 1
        yield feature


def _after_space(buffer: str, position: int) -> int:
    found = _BETWEEN.match(buffer, position)
    return found.end() if found else position


def _opening(decoder: json.JSONDecoder, buffer: str) -> tuple[int, bool]:
    """Where the first feature begins, and whether a bracket ends the last."""
    start = _after_space(buffer, 0)
    if buffer.startswith("[", start):
        return start + 1, True
    try:
        first, _ = decoder.raw_decode(buffer, start)
    except json.JSONDecodeError:
        first = None
    collection = _FEATURES.search(buffer)
    if collection is None or (isinstance(first, dict) and "features" not in first):
        return start, False
    return collection.end(), True
