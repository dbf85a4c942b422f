"""News of long work on its way from worker processes to whoever watches the run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic

from leakgauge.core.telling import tell

_PAUSE = 0.5  # seconds between two looks, and between two notes of a worker


@contextmanager
def relayed() -> Iterator[Path]:
    """A file for the latest news of any worker: what is written there is told here, while this lasts."""
    with TemporaryDirectory(prefix="leakgauge-news-", ignore_cleanup_errors=True) as folder:
        path, over = Path(folder) / "latest", Event()

        def listen() -> None:
            last = ""
            while not over.wait(_PAUSE):
                news = _latest(path)
                if news and news != last:
                    last = news
                    tell(news)

        listener = Thread(target=copy_context().run, args=(listen,), daemon=True)
        listener.start()
        try:
            yield path
        finally:
            over.set()
            listener.join()


def writer(path: Path) -> Callable[[str], None]:
    """What a worker does with its news: it leaves a note now and then, and minds no lost one."""
    since = -_PAUSE

    def write(news: str) -> None:
        nonlocal since
        if (now := monotonic()) - since < _PAUSE:
            return
        since = now
        try:
            path.write_text(news, encoding="utf-8")
        except OSError:
            return

    return write


def _latest(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
