"""So many requests a second, and so many in all; by however many threads they are sent."""

import math
from collections.abc import Callable
from threading import Event, Lock
from time import monotonic

from leakgauge.core.errors import IncompleteRun, Lost


class Meter:
    """Lets requests through one by one, evenly spaced."""

    def __init__(self, rate: float, total: int, clock: Callable[[], float] = monotonic) -> None:
        self._gap, self._total, self._clock = 1 / rate, total, clock
        self._sent, self._next = 0, -math.inf
        self.useful = False  # whether what was sent has led to anything that is kept
        self._lock = Lock()

    @property
    def sent(self) -> int:
        return self._sent

    def take(self, stop: Event) -> None:
        """Wait until a request may be sent; no more are once the total is reached."""
        with self._lock:
            if self._sent >= self._total:
                way_on = (
                    "the same command sends as many again"
                    if self.useful
                    else "before one block was played: raise total, or lower block"
                )
                raise IncompleteRun(f"service.total = {self._total} requests were sent; {way_on}")
            self._sent += 1
            at = max(self._next, self._clock())
            self._next = at + self._gap
        pause(stop, at - self._clock())

    def hold(self, seconds: float) -> None:
        """Let nothing through for a while."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)


def pause(stop: Event, seconds: float) -> None:
    """Wait, unless it is known meanwhile that waiting is of no use."""
    if stop.wait(max(seconds, 0.0)):
        raise Lost("given up: another request of the same rounds was lost")
