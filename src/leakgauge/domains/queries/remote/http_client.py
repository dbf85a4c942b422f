"""Send requests over a few connections, within a rate and a total, and retry them where that is safe.

A reply is an answer, a refusal, a fault, or an error that the owner of the service must fix.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.util import find_spec
from threading import Barrier, Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable, RefusalRule
from leakgauge.domains.queries.remote.request_templates import HttpRequest

if TYPE_CHECKING:
    from ssl import SSLContext

    from leakgauge.domains.queries.remote.deadline_transport import OneConnection

_SHOWN = 200  # characters of a reply in messages

Result = TypeVar("Result")

NOT_FROM_SERVICE = (408, 502, 503, 504)  # statuses of gateways, and of a service that is not ready
LARGEST_REPLY = 1_000_000  # bytes of a reply
LONGEST_WAIT = 120.0  # seconds that a service may ask for
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between tries
_LASTING = 3  # questions that failed in all tries, from which on others get two tries


class RetryLater(Exception):
    """A request was rejected before it had any effect: it may be sent again ``after`` some seconds."""

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


class NoConnection(RetryLater):
    """The address took no connection."""


class UnclearReply(Exception):
    """The service may have answered, and charged, but no usable reply arrived."""


class FaultReply(UnclearReply):
    """A complete reply that reports a fault of the service, or an answer that is no number."""


class UnknownToService(Exception):
    """The service reports an unknown path or round."""


@dataclass(frozen=True)
class HttpReply:
    """The status, headers and content of a reply."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    secret: str | None = None  # what the service may repeat and no message may show
    seconds: float = math.nan  # from the request that got it to the end of the reply; no earlier try counts

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
        text = without_secret("".join(letter for letter in text if letter.isprintable()), self.secret)
        return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def without_secret(text: str, secret: str | None) -> str:
    """Text of a service, left out as a whole where it repeats a secret.

    Cutting out a short secret would leave holes in other words, and show which letters it has.

    >>> without_secret("no such user", "s"), without_secret("no such user", "s3cr3t")
    ('(not shown, because it repeats the token)', 'no such user')
    """
    return "(not shown, because it repeats the token)" if secret and secret in text else text


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
        raise FaultReply(f"an answer that is not a number but {type(value).__name__}")
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise FaultReply("an answer that is not finite")
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
    if status in NOT_FROM_SERVICE:
        raise UnclearReply(f"status {status}")
    if status >= 500:
        raise FaultReply(f"status {status}")
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


class RateLimiter:
    """Spaces requests evenly, and limits their total."""

    def __init__(self, rate: float, total: int, clock: Callable[[], float] = monotonic) -> None:
        self._gap, self._total, self._clock = 1 / rate, total, clock
        self._sent, self._next = 0, -math.inf
        self.useful = False  # whether a block was completed with these requests
        self._lock = Lock()

    @property
    def sent(self) -> int:
        return self._sent

    def take(self, stop: Event) -> None:
        """Wait until a request may be sent; raise once the total is reached."""
        with self._lock:
            if self._sent >= self._total:
                advice = (
                    "run the same command again to send as many more"
                    if self.useful
                    else "before one block was complete: raise total, or lower block"
                )
                raise IncompleteRun(f"service.total = {self._total} requests were sent; {advice}")
            self._sent += 1
            at = max(self._next, self._clock())
            self._next = at + self._gap
        pause(stop, at - self._clock())

    @contextmanager
    def burst(self, n: int) -> Iterator[None]:
        """Let so many requests be sent at once; others wait until the rate is kept again."""
        gap, self._gap = self._gap, 0.0
        try:
            yield
        finally:
            self._gap = gap
            self.hold(n * gap)

    def hold(self, seconds: float) -> None:
        """Send nothing for some seconds."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)


def pause(stop: Event, seconds: float) -> None:
    """Wait, unless another request has failed."""
    if stop.wait(max(seconds, 0.0)):
        raise ReleaseLost("stopped: another request of the same rounds was lost")


def require_httpx() -> None:
    """Refuse to query a service if the HTTP library is missing."""
    if find_spec("httpx") is None:
        raise BadInput("challenger.service: httpx not installed; run: pip install 'leakgauge[service]'")


def token_of(service: QueriesServiceTable) -> str | None:
    """Return the token from the environment variable that the plan names."""
    if service.token is None:
        return None
    if missing := missing_token(service):
        raise BadInput(f"{missing}; export it")
    return os.environ[service.token]


def missing_token(service: QueriesServiceTable) -> str | None:
    """That the environment variable which the plan names holds no token; nothing where it does.

    A name that may be a token, pasted in its place, is not repeated.
    """
    token = "" if service.token is None else os.environ.get(service.token, "")
    if service.token is None or (token.strip() and token.isascii() and token.isprintable()):
        return None
    name = repr(service.token) if service.token.isupper() else "that it names"
    return f"challenger.service.token: the environment variable {name} holds no token"


@cache
def _ssl_context() -> "SSLContext":
    """Return the trusted certificates, loaded once."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class HttpClient:
    """Sends requests to a service within the limits of the plan."""

    def __init__(self, service: QueriesServiceTable) -> None:
        self._service, self.meter = service, RateLimiter(service.rate, service.total)
        self._idle: list[OneConnection] = []
        self._stop = Event()
        self._lock = Lock()
        self._n_lasting_faults = 0  # questions that the service failed to answer in all tries
        self._has_recovered = False  # whether a question was answered after a fault
        self._has_replied = False  # whatever it was: then somebody listens at the address
        self.secret: str | None = None  # the token, once it is known

    def each(self, work: Callable[[int], Result], n: int) -> list[Result]:
        """Call ``work`` for every round, over a few connections; one failure stops all."""
        self._stop = Event()
        with ThreadPoolExecutor(min(self._service.connections, max(n, 1)), "service") as pool:
            futures = [pool.submit(work, i) for i in range(n)]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future in done and (error := future.exception()) is not None:
                        raise error
                return [future.result() for future in futures]
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def at_once(self, work: Callable[[int], Result], n: int) -> list[Result]:
        """Call ``work`` so many times at the same moment, each over a connection of its own."""
        self._stop, ready = Event(), Barrier(n)

        def together(i: int) -> Result:
            ready.wait()
            return work(i)

        with self.meter.burst(n), ThreadPoolExecutor(n, "burst") as pool:
            return list(pool.map(together, range(n)))

    def send(
        self,
        url: str,
        call: HttpRequest,
        interpret: Callable[[HttpReply], Result],
        *,
        repeatable: bool,
        tries: int,
    ) -> Result:
        """Send a request; retry if the service did nothing, or if that is unclear and ``repeatable`` is set.

        ``interpret`` converts a reply. A reply that stays unclear is lost; a fault that stays one is raised.
        A service that failed in all tries of some questions, and never answered after a fault, is not busy:
        then one more try is enough.
        Where no reply ever came, nobody may listen at the address: the run stops instead of waiting on.
        """
        problem: Exception | None = None
        for i in range(tries):
            if i > 0:
                pause(self._stop, min(FIRST_PAUSE * 2 ** (i - 1), LONGEST_PAUSE))
            self.meter.take(self._stop)
            try:
                result = interpret(self._exchange(url, call))
                self._has_recovered |= isinstance(problem, FaultReply)
                return result
            except RetryLater as error:
                problem = error
                self._pause_all(error.after, call)
            except UnclearReply as error:
                problem = error
                lasts = isinstance(error, FaultReply) and self._faults_last
                if not repeatable or (lasts and i > 0):
                    break
            except BadInput as error:
                raise BadInput(f"challenger.service: {call.name}: {error}") from None
        if isinstance(problem, FaultReply):
            with self._lock:
                self._n_lasting_faults += 1
            raise FaultReply(f"{call.name}: {problem}") from None
        if isinstance(problem, NoConnection) and not self._has_replied:
            raise IncompleteRun(f"{call.name}: {problem}; check that the service is running there")
        raise ReleaseLost(f"{call.name}: {problem}") from None

    @property
    def _faults_last(self) -> bool:
        """Whether it is of no use to repeat a question that the service failed to answer."""
        return self._n_lasting_faults >= _LASTING and not self._has_recovered

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    def _pause_all(self, seconds: float, call: HttpRequest) -> None:
        if seconds > LONGEST_WAIT:
            raise IncompleteRun(
                f"{call.name}: the service asks to wait {seconds:.0f} seconds; continue after that"
            )
        self.meter.hold(seconds)

    def _new_client(self) -> "OneConnection":
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        from leakgauge.domains.queries.remote.deadline_transport import OneConnection

        return OneConnection(
            _ssl_context(),
            lambda: monotonic(),
            timeout=self._service.timeout,
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # none: rounds must be independent
            headers={
                "Accept-Encoding": "identity",
                "Cache-Control": "no-store",
                "User-Agent": "leakgauge",
            },
        )

    def _exchange(self, url: str, call: HttpRequest) -> HttpReply:
        """Send one request and read its reply, on a connection that no other request has.

        Many servers close a connection after a fault of their own, perhaps when the next request is under
        way: only one whose request succeeded is kept.
        """
        with self._lock:
            idle = self._idle
            client = idle.pop() if idle else self._new_client()
        is_kept = False
        try:
            reply = self._exchange_over(client, url, call)
            with self._lock:
                is_kept = reply.status < 500 and reply.status != 408 and idle is self._idle
                if is_kept:
                    idle.append(client)
            return reply
        finally:
            if not is_kept:
                client.close()

    def _exchange_over(self, client: "OneConnection", url: str, call: HttpRequest) -> HttpReply:
        """Without a connection, nothing has reached the service."""
        import httpx

        content, start = bytearray(), monotonic()
        client.deadline.at = start + self._service.timeout
        try:
            with client.stream(
                call.method, url + call.path, content=call.content, headers=call.headers
            ) as response:
                for part in response.iter_raw():
                    content += part
                    if len(content) > LARGEST_REPLY:
                        raise UnclearReply(f"a reply of more than {LARGEST_REPLY} bytes")
                seconds = monotonic() - start
                self._has_replied = True
                return HttpReply(response.status_code, response.headers, bytes(content), self.secret, seconds)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise NoConnection(f"no connection to {url} ({str(error) or type(error).__name__})") from None
        except httpx.TimeoutException:
            raise UnclearReply(f"no complete reply within {self._service.timeout:g} seconds") from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError) as error:
            cause = without_secret(str(error), self.secret)
            raise BadInput(f"cannot be sent ({cause}); check the template") from None
        except httpx.TransportError as error:
            cause = str(error) or type(error).__name__
            raise UnclearReply(f"the connection broke before the reply arrived ({cause})") from None
