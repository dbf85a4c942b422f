"""What a reply holds besides the answer: fields, headers, status and lengths, as numbers to compare."""

import json
import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from leakgauge.domains.queries.remote.http_client import HttpReply, UnclearReply
from leakgauge.domains.queries.transcript import NUMBER, TEXT

MOST_FIELDS = 40  # of one reply that are compared one by one; the others are compared together
_LONGEST = 80  # characters of a name
_OF_TRANSPORT = {
    "connection",
    "content-length",
    "date",
    "transfer-encoding",
}  # headers: lengths are compared, times of replies too


def opening_fields(reply: HttpReply, round_field: str) -> dict[str, float]:
    """The fields of the reply that opened a round, besides its name."""
    return dict(
        _as_number(f"the field {path} (opening of a round)", value)
        for path, value in [*_leaves(reply.body, "", round_field)][:MOST_FIELDS]
    )


def reply_fields(reply: HttpReply, answer: str) -> dict[str, float]:
    """Return numbers as they are and texts as a digest, by names that begin with what they are."""
    try:
        body = reply.body
        padding = len(reply.content) - len(json.dumps(body).encode())
    except UnclearReply:
        body, padding = reply.content.decode(errors="replace"), 0
    found: dict[str, float] = {f"{NUMBER}the length of the body": float(len(reply.content))}
    found[f"{NUMBER}the spacing of the body"] = float(padding)
    found[f"{TEXT}the status"] = float(reply.status)
    headers = [(f"the header {name}", value) for name, value in reply.headers.items()]
    leaves = [
        (f"the field {path}" if path else "the body", value) for path, value in _leaves(body, "", answer)
    ]
    seen = [
        (name, value) for name, value in headers if name.split()[-1].lower() not in _OF_TRANSPORT
    ] + leaves
    if len(seen) > MOST_FIELDS:
        seen = [*seen[:MOST_FIELDS], ("further fields", repr(seen[MOST_FIELDS:]))]
    return found | dict(_as_number(name, value) for name, value in seen)


def _as_number(name: str, value: Any) -> tuple[str, float]:
    """The name of a field with what it is, and its number or that of its text."""
    number, name = _number(value), "".join(letter if letter.isprintable() else "?" for letter in name)
    return f"{TEXT if number is None else NUMBER}{name[:_LONGEST]}", _digest(
        value
    ) if number is None else number


def _leaves(body: Any, path: str, answer: str) -> Iterator[tuple[str, Any]]:
    if path == answer:
        return
    if isinstance(body, dict | list) and body:
        items = body.items() if isinstance(body, dict) else enumerate(body)
        for key, value in items:
            yield from _leaves(value, f"{path}.{key}" if path else str(key), answer)
    else:
        yield path, body


def _number(value: Any) -> float | None:
    """A finite number, also from its text, as headers have it."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _digest(value: Any) -> float:
    digest = blake2b(repr(value).encode(errors="surrogatepass"), digest_size=6).digest()
    return float(int.from_bytes(digest))
