"""Progress of long work: messages, their way from worker processes, and a progress bar on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text


ProgressListener: TypeAlias = Callable[[str], None]

_listener: ContextVar[ProgressListener] = ContextVar("_teller", default=lambda _: None)


def report_progress(news: str) -> None:
    """Say how far a piece of work has come; nobody need listen."""
    _listener.get()(news)


@contextmanager
def listen_to_progress(teller: ProgressListener) -> Iterator[None]:
    """Let somebody hear what is told for a while."""
    token = _listener.set(teller)
    try:
        yield
    finally:
        _listener.reset(token)


_PAUSE = 0.5  # seconds between two looks, and between two notes of a worker


@contextmanager
def relay_worker_progress() -> Iterator[Path]:
    """A file for the latest news of any worker: what is written there is told here, while this lasts."""
    with TemporaryDirectory(prefix="leakgauge-news-", ignore_cleanup_errors=True) as folder:
        path, over = Path(folder) / "latest", Event()

        def listen() -> None:
            last = ""
            while not over.wait(_PAUSE):
                news = _latest_message(path)
                if news and news != last:
                    last = news
                    report_progress(news)

        listener = Thread(target=copy_context().run, args=(listen,), daemon=True)
        listener.start()
        try:
            yield path
        finally:
            over.set()
            listener.join()


def progress_file_writer(path: Path) -> Callable[[str], None]:
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


def _latest_message(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


Advance: TypeAlias = Callable[[str, int], None]


@contextmanager
def progress_bar(total: int, *, done: int = 0, unit: str = "rounds") -> Iterator[Advance]:
    """Show rounds done, rounds per second and time left on the terminal; nothing where there is none.

    What is yielded takes the name of the audit and the number of rounds just done. Work that comes in a few
    uneven steps has another ``unit``; time that has passed is shown for it instead.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[ProgressColumn | str] = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        unit,
        *([_rate_column(), TimeRemainingColumn()] if unit == "rounds" else [TimeElapsedColumn()]),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=total, completed=done)

        def advance(name: str, rounds: int) -> None:
            bar.update(task, description=name, advance=rounds)

        yield advance


def _rate_column() -> "ProgressColumn":
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Rounds per second."""

        def render(self, task: "Task") -> "Text":
            return Text("" if task.speed is None else f"{task.speed:,.0f}/s")

    return Rate()
