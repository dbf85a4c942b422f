"""Replies of a service: an answer, a refusal, a fault, or an error that its owner must fix."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.remote.plan_tables import RefusalRule

_SHOWN = 200  # characters of a reply in messages


class RetryLater(Exception):
    """A request was rejected before it had any effect: it may be sent again ``after`` some seconds."""

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


class UnclearReply(Exception):
    """The service may have answered, and charged, but no usable reply arrived."""


class UnknownToService(Exception):
    """The service reports an unknown path or round."""


@dataclass(frozen=True)
class HttpReply:
    """The status, headers and content of a reply."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        try:
            return json.loads(self.content, parse_constant=_not_finite)
        except ValueError as error:  # includes text that cannot be decoded
            raise UnclearReply(
                f"status {self.status}, and a reply that cannot be read as JSON ({error})"
            ) from None
        except RecursionError:
            raise UnclearReply(
                f"status {self.status}, and a reply that cannot be read as JSON (nested too deeply)"
            ) from None

    @property
    def excerpt(self) -> str:
        """The beginning of the reply, in one line."""
        text = " ".join(self.content.decode(errors="replace").split())
        text = "".join(letter for letter in text if letter.isprintable())
        return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def field_at(body: Any, path: str) -> Any:
    """Return the value at a dotted path; numbers are positions in lists.

    >>> field_at({"rows": [[3.5]]}, "rows.0.0")
    3.5
    """
    for step in path.split("."):
        match body:
            case dict() if step in body:
                body = body[step]
            case list() if step.isdecimal() and int(step) < len(body):
                body = body[int(step)]
            case _:
                raise KeyError(path)
    return body


def finite_answer(value: Any) -> float:
    """Return a finite number; anything else is not an answer."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnclearReply(f"an answer that is not a number but {type(value).__name__}")
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise UnclearReply("an answer that is not finite")
    return real


def is_refusal(reply: HttpReply, refused: RefusalRule) -> bool:
    """Return whether a complete reply is a refusal according to the plan."""
    if refused.status is not None and reply.status != refused.status:
        return False
    if refused.field is None:
        return True
    if refused.status is None and not 200 <= reply.status < 300:
        return False
    try:
        value = field_at(reply.body, refused.field)
    except KeyError:
        return False
    return value not in (None, False) if refused.equals is None else value == refused.equals


def require_success(reply: HttpReply) -> None:
    """Raise the error that fits the status of a reply that reports no success."""
    status = reply.status
    if 200 <= status < 300:
        return
    after = retry_after(reply.headers.get("retry-after"))
    if status == 429 or (status == 503 and after is not None):
        raise RetryLater(f"status {status}", after or 0.0)
    if status >= 500 or status == 408:
        raise UnclearReply(f"status {status}")
    if status in (404, 410):
        raise UnknownToService(f"status {status}: {reply.excerpt}")
    if status in (401, 407):
        raise BadInput(f"status {status}: the token is missing or wrong; check service.token")
    if 300 <= status < 400:
        raise BadInput(f"status {status}: redirects are not followed; set service.url to the final address")
    raise BadInput(
        f"status {status}, which is neither an answer nor a refusal according to the plan: {reply.excerpt}"
    )


def retry_after(text: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which may also be a date (RFC 9110).

    >>> retry_after("3"), retry_after("soon")
    (3.0, None)
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)


def _not_finite(text: str) -> Any:
    raise ValueError(f"{text} is not a finite number")
