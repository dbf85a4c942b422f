"""What a service replied: an answer, a refusal, a fault, or something that its owner must fix."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.remote.plan_tables import RefusalRule

_SHOWN = 200  # characters of what a service said


class RetryLater(Exception):
    """A request was turned away before anything was done: it may be sent again ``after`` some seconds."""

    def __init__(self, words: str, after: float = 0.0) -> None:
        super().__init__(words)
        self.after = after


class UnclearReply(Exception):
    """Something may have been answered, and charged, that did not arrive."""


class UnknownToService(Exception):
    """The service knows nothing of what it was asked about."""


@dataclass(frozen=True)
class HttpReply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        try:
            return json.loads(self.content, parse_constant=_not_finite)
        except ValueError as error:  # that includes text in no known encoding
            raise UnclearReply(
                f"status {self.status}, and a reply that cannot be read as JSON ({error})"
            ) from None
        except RecursionError:
            raise UnclearReply(
                f"status {self.status}, and a reply that cannot be read as JSON (nested too deeply)"
            ) from None

    @property
    def said(self) -> str:
        """The beginning of what the service said, in one line."""
        words = " ".join(self.content.decode(errors="replace").split())
        words = "".join(letter for letter in words if letter.isprintable())
        return words if len(words) <= _SHOWN else words[: _SHOWN - 3] + "..."


def field_at(body: Any, path: str) -> Any:
    """What stands at a dotted path; numbers count into lists.

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
    """A finite number; all else is no answer."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnclearReply(f"an answer that is no number but {type(value).__name__}")
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise UnclearReply("an answer that is not finite")
    return real


def is_refusal(reply: HttpReply, refused: RefusalRule) -> bool:
    """Whether a reply says, as the plan says it would, that the question is refused; it must be whole."""
    if refused.status is not None and reply.status != refused.status:
        return False
    if refused.field is None:
        return True
    if refused.status is None and not 200 <= reply.status < 300:
        return False
    try:
        found = field_at(reply.body, refused.field)
    except KeyError:
        return False
    return found not in (None, False) if refused.equals is None else found == refused.equals


def require_success(reply: HttpReply) -> None:
    """Sort out replies that are neither answers nor refusals, by their status."""
    status = reply.status
    if 200 <= status < 300:
        return
    after = retry_after(reply.headers.get("retry-after"))
    if status == 429 or (status == 503 and after is not None):
        raise RetryLater(f"status {status}", after or 0.0)
    if status >= 500 or status == 408:
        raise UnclearReply(f"status {status}")
    if status in (404, 410):
        raise UnknownToService(f"status {status}: {reply.said}")
    if status in (401, 407):
        raise BadInput(f"status {status}: the token is missing or wrong; check service.token")
    if 300 <= status < 400:
        raise BadInput(f"status {status}: redirects are not followed; write the final address to service.url")
    raise BadInput(
        f"status {status}, which is neither an answer nor a refusal as the plan tells it: {reply.said}"
    )


def retry_after(text: str | None) -> float | None:
    """The seconds that a service asks to be left alone; it may say a date (RFC 9110).

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
    raise ValueError(f"{text} is no finite number")
