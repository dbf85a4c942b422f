"""Progress of long work: messages, also from worker processes, and a bar on the terminal or in a notebook."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from leakgauge.support.visible_text import visible_line

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text


ProgressListener: TypeAlias = Callable[[str], None]
Advance: TypeAlias = Callable[[str, int], None]
_PAUSE = 0.5  # seconds between two reads, and between two messages of a worker

_listener: ContextVar[ProgressListener] = ContextVar("_listener", default=lambda _: None)


def report_progress(message: str) -> None:
    """Send a progress message to the current listener, if there is one."""
    _listener.get()(message)


def announce(line: str) -> None:
    """Write one line to standard error, also where there is no terminal, as before long work."""
    sys.stderr.write(f"{visible_line(line)}\n")


@contextmanager
def listen_to_progress(listener: ProgressListener) -> Iterator[None]:
    """Send progress messages to a listener within the context."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def relay_worker_progress() -> Iterator[Path]:
    """Yield a file for the latest message of any worker; what is written there is reported here."""
    with TemporaryDirectory(prefix="leakgauge-progress-", ignore_cleanup_errors=True) as folder:
        path, over = Path(folder) / "latest", Event()

        def listen() -> None:
            last, stopped = "", False
            while not stopped:
                stopped = over.wait(_PAUSE)  # the file is read once more at the end
                message = _latest_message(path)
                if message and message != last:
                    last = message
                    report_progress(message)

        listener = Thread(target=copy_context().run, args=(listen,), daemon=True)
        listener.start()
        try:
            yield path
        finally:
            over.set()
            listener.join()


def progress_file_writer(path: Path) -> Callable[[str], None]:
    """Return a listener for workers: it writes a message at most twice a second, and ignores failures."""
    since = -_PAUSE

    def write(message: str) -> None:
        nonlocal since
        if (now := monotonic()) - since < _PAUSE:
            return
        since = now
        try:
            path.write_text(message, encoding="utf-8")
        except OSError:
            return

    return write


def _latest_message(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


@contextmanager
def progress_bar(total: int, *, done: int = 0, unit: str = "rounds") -> Iterator[Advance]:
    """Show rounds done, rounds per second and time left, if standard error is a terminal or in a notebook.

    The yielded function takes the name of the audit and the number of rounds just done. For another ``unit``,
    such as a few uneven steps, the elapsed time is shown instead of the time left.
    """
    if in_notebook():
        with _notebook_bar(total, done, unit) as advance:
            yield advance
        return
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
            bar.update(task, description=visible_line(name), advance=rounds)

        yield advance


def _rate_column() -> "ProgressColumn":
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Rounds per second."""

        def render(self, task: "Task") -> "Text":
            return Text("" if task.speed is None else f"{task.speed:,.0f}/s")

    return Rate()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; IPython is not imported to find out."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _notebook_bar(total: int, done: int, unit: str) -> Iterator[Advance]:
    """A bar as HTML that is updated in its place, at most twice a second; it needs no widgets.

    That of rich needs ipywidgets in a notebook, and shows only a warning without them.
    """
    from IPython.display import HTML, display

    so_far, shown_at, start = done, monotonic(), monotonic()
    bar = display(HTML(bar_html("starting", done, total, unit, 0.0)), display_id=True)

    def advance(name: str, rounds: int) -> None:
        nonlocal so_far, shown_at
        so_far += rounds
        if bar is not None and (now := monotonic()) - shown_at >= _PAUSE:
            shown_at = now
            bar.update(HTML(bar_html(name, so_far, total, unit, now - start)))

    try:
        yield advance
    finally:
        if bar is not None:
            bar.update(HTML(""))


def bar_html(name: str, done: int, total: int, unit: str, seconds: float) -> str:
    """A progress bar for a notebook.

    >>> bar_html("<city>", 1, 2, "rounds", 3.2)
    '<progress value="1" max="2"></progress> &lt;city&gt;: 1 of 2 rounds, 3 s'
    """
    return (
        f'<progress value="{done}" max="{total}"></progress> {escape(name)}: {done:,} of {total:,} '
        f"{escape(unit)}, {seconds:.0f} s"
    )
