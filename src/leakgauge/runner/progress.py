"""How far a run has come, for whoever watches it in a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

Advance: TypeAlias = Callable[[str, int], None]


@contextmanager
def progress(total: int, *, done: int = 0, unit: str = "rounds") -> Iterator[Advance]:
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
