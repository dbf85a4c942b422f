"""Send requests over a few connections, within a rate and a total, and retry them where that is safe."""

import math
import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from importlib.util import find_spec
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from leakgauge.core.errors import BadInput, IncompleteRun, ReleaseLost
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable
from leakgauge.domains.queries.remote.replies import HttpReply, RetryLater, UnclearReply
from leakgauge.domains.queries.remote.request_templates import HttpRequest

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx

Result = TypeVar("Result")

LARGEST_REPLY = 1_000_000  # bytes of a reply
LONGEST_WAIT = 120.0  # seconds that a service may ask for
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between tries


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
    token = os.environ.get(service.token, "")
    if not token.strip() or not token.isascii() or not token.isprintable():
        raise BadInput(
            f"challenger.service.token: the environment variable {service.token!r} holds no token; export it"
        )
    return token


@cache
def _ssl_context() -> "SSLContext":
    """Return the trusted certificates, loaded once."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class HttpClient:
    """Sends requests to a service within the limits of the plan."""

    def __init__(self, service: QueriesServiceTable) -> None:
        self._service, self.meter = service, RateLimiter(service.rate, service.total)
        self._client: httpx.Client | None = None
        self._stop = Event()

    def each(self, work: Callable[[int], Result], n: int) -> list[Result]:
        """Call ``work`` for every round, over a few connections; one failure stops all."""
        self._stop = Event()
        self._open()
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

        ``interpret`` converts a reply. A reply that stays unclear is lost.
        """
        problem: Exception | None = None
        for i in range(tries):
            if i > 0:
                pause(self._stop, min(FIRST_PAUSE * 2 ** (i - 1), LONGEST_PAUSE))
            self.meter.take(self._stop)
            try:
                return interpret(self._exchange(url, call))
            except RetryLater as error:
                problem = error
                self._pause_all(error.after, call)
            except UnclearReply as error:
                problem = error
                if not repeatable:
                    break
            except BadInput as error:
                raise BadInput(f"challenger.service: {call.name}: {error}") from None
        raise ReleaseLost(f"{call.name}: {problem}") from None

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _pause_all(self, seconds: float, call: HttpRequest) -> None:
        if seconds > LONGEST_WAIT:
            raise IncompleteRun(
                f"{call.name}: the service asks to wait {seconds:.0f} seconds; continue after that"
            )
        self.meter.hold(seconds)

    def _open(self) -> None:
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        import httpx

        if self._client is None:
            n = self._service.connections
            self._client = httpx.Client(
                timeout=self._service.timeout,
                limits=httpx.Limits(max_connections=n, max_keepalive_connections=n, keepalive_expiry=3.0),
                follow_redirects=False,
                trust_env=False,
                verify=_ssl_context(),
                cookies=CookieJar(
                    DefaultCookiePolicy(allowed_domains=[])
                ),  # no cookies: rounds must be independent
                headers={
                    "Accept-Encoding": "identity",
                    "Cache-Control": "no-store",
                    "User-Agent": "leakgauge",
                },
            )

    def _exchange(self, url: str, call: HttpRequest) -> HttpReply:
        """Send one request and read its reply; without a connection, nothing has reached the service."""
        import httpx

        assert self._client is not None
        content, deadline = bytearray(), monotonic() + self._service.timeout
        try:
            with self._client.stream(
                call.method, url + call.path, content=call.content, headers=call.headers
            ) as response:
                for part in response.iter_raw():
                    content += part
                    if len(content) > LARGEST_REPLY:
                        raise UnclearReply(f"a reply of more than {LARGEST_REPLY} bytes")
                    if monotonic() > deadline:
                        raise UnclearReply(f"no complete reply within {self._service.timeout:g} seconds")
                return HttpReply(response.status_code, response.headers, bytes(content))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise RetryLater(f"no connection to {url} ({str(error) or type(error).__name__})") from None
        except httpx.TimeoutException:
            raise UnclearReply(f"no reply within {self._service.timeout:g} seconds") from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError) as error:
            raise BadInput(f"cannot be sent ({error}); check the template") from None
        except httpx.TransportError as error:
            cause = str(error) or type(error).__name__
            raise UnclearReply(f"the connection broke before the reply arrived ({cause})") from None
