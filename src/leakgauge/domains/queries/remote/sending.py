"""Requests over a few connections, sent again where nothing can have been answered twice."""

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from importlib.util import find_spec
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from leakgauge.core.errors import BadInput, IncompleteRun, Lost
from leakgauge.domains.queries.remote.meter import Meter, pause
from leakgauge.domains.queries.remote.replies import NotDone, Reply, Unclear
from leakgauge.domains.queries.remote.service import Service
from leakgauge.domains.queries.remote.templates import Call

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx

Found = TypeVar("Found")

LARGEST = 1_000_000  # bytes of a reply
LONGEST_WAIT = 120.0  # seconds that a service may ask for
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between tries


def require_libraries() -> None:
    """Refuse to ask a service where the library for it is missing."""
    if find_spec("httpx") is None:
        raise BadInput("challenger.service: httpx not installed; run: pip install 'leakgauge[service]'")


def token_of(service: Service) -> str | None:
    """The token, from the environment variable that the plan names."""
    if service.token is None:
        return None
    token = os.environ.get(service.token, "")
    if not token.strip() or not token.isascii() or not token.isprintable():
        raise BadInput(
            f"challenger.service.token: the environment variable {service.token!r} holds no token; export it"
        )
    return token


@cache
def _trusted() -> "SSLContext":
    """Whom to believe who they are; read once."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class Sender:
    """Sends requests to a service as gently as the plan says."""

    def __init__(self, service: Service) -> None:
        self._service, self.meter = service, Meter(service.rate, service.total)
        self._client: httpx.Client | None = None
        self._stop = Event()

    def each(self, work: Callable[[int], Found], n: int) -> list[Found]:
        """Do some work for every round, over a few connections; if one fails, all is given up."""
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
        self, url: str, call: Call, understand: Callable[[Reply], Found], *, again: bool, tries: int
    ) -> Found:
        """Send a request; once more if nothing was done, or if that is unclear but ``again`` is safe.

        ``understand`` says what a reply means. What remains unclear is lost.
        """
        problem: Exception | None = None
        for i in range(tries):
            if i > 0:
                pause(self._stop, min(FIRST_PAUSE * 2 ** (i - 1), LONGEST_PAUSE))
            self.meter.take(self._stop)
            try:
                return understand(self._exchange(url, call))
            except NotDone as error:
                problem = error
                self._wait_for(error.after, call)
            except Unclear as error:
                problem = error
                if not again:
                    break
            except BadInput as error:
                raise BadInput(f"challenger.service: {call.name}: {error}") from None
        raise Lost(f"{call.name}: {problem}") from None

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _wait_for(self, seconds: float, call: Call) -> None:
        if seconds > LONGEST_WAIT:
            raise IncompleteRun(f"{call.name}: the service asks to wait {seconds:.0f} seconds; continue then")
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
                verify=_trusted(),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # rounds share nothing
                headers={
                    "Accept-Encoding": "identity",
                    "Cache-Control": "no-store",
                    "User-Agent": "leakgauge",
                },
            )

    def _exchange(self, url: str, call: Call) -> Reply:
        """One request and its reply; nothing has reached the service if no connection was made."""
        import httpx

        assert self._client is not None
        content, deadline = bytearray(), monotonic() + self._service.timeout
        try:
            with self._client.stream(
                call.method, url + call.path, content=call.content, headers=call.headers
            ) as response:
                for part in response.iter_raw():
                    content += part
                    if len(content) > LARGEST:
                        raise Unclear(f"a reply of more than {LARGEST} bytes")
                    if monotonic() > deadline:
                        raise Unclear(f"no whole reply within {self._service.timeout:g} seconds")
                return Reply(response.status_code, response.headers, bytes(content))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise NotDone(f"no connection to {url} ({str(error) or type(error).__name__})") from None
        except httpx.TimeoutException:
            raise Unclear(f"no reply within {self._service.timeout:g} seconds") from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError) as error:
            raise BadInput(f"cannot be sent ({error}); check the template") from None
        except httpx.TransportError as error:
            words = str(error) or type(error).__name__
            raise Unclear(f"the connection broke before the reply was there ({words})") from None
