"""The command ``leakgauge``.

Exit codes: 0 done, 1 violated, 2 bad input, 3 undecided, untestable or incomplete, 130 interrupted, 143
terminated; 70 is a bug in leakgauge itself, never a finding.
"""

import argparse
import gc
import io
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from threading import current_thread, main_thread
from types import ModuleType
from typing import NoReturn

from leakgauge.cli.console_encoding import PrintedLines, print_any_text
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.support.visible_text import visible
from leakgauge.version import VERSION

BUG, INTERRUPTED, TERMINATED = 70, 130, 143
_NEW_OBJECTS = 10_000  # before a collection; Python's own number is 700


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, call the command, and return its exit code."""
    print_any_text()
    if "_ARGCOMPLETE" in os.environ:
        complete_words()
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = _parse(argv)
        with _rarer_collections(), _terminable(), _no_quiet_end():
            return _run(arguments)
    except BadInput as error:
        return _print_error(error, 2)
    except IncompleteRun as error:
        if error.__cause__ is not None:
            _print_traceback(error.__cause__)
        return _print_error(error, 3)
    except KeyboardInterrupt as error:
        asked = isinstance(error, _Terminated)
        word, code = ("terminated", TERMINATED) if asked else ("interrupted", INTERRUPTED)
        command = shlex.join(["leakgauge", *(part for part in argv if part != "--fresh")])
        return _print_error(f"{word}; finished blocks are kept; continue with: {command}", code)
    except Exception as error:
        _print_traceback(error)
        return _print_error("this is a bug in leakgauge; please report it with the lines above", BUG)


class _Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): it ends as after an interrupt."""


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the command as an interrupt does, unless somebody else listens to it."""

    def end(*_: object) -> NoReturn:
        raise _Terminated

    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _rarer_collections() -> Iterator[None]:
    """Look for unused cycles of objects less often: loading libraries makes many objects, and few cycles."""
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _no_quiet_end() -> Iterator[None]:
    """Refuse code of the user that ends the program: its code 0 would be read as a passed audit."""
    try:
        yield
    except SystemExit as error:
        from leakgauge.support.user_code import error_with_location

        raise BadInput(
            f"the program was ended by {error_with_location(error)}; nothing was decided; remove it there"
        ) from error


def _run(arguments: argparse.Namespace) -> int:
    """Call the command; its exit code is returned even if the reader of its output has gone."""
    held = None if sys.stdout.isatty() else io.StringIO()
    try:
        with redirect_stdout(PrintedLines(sys.stdout if held is None else held)):
            return int(arguments.command(arguments))
    finally:
        try:
            sys.stdout.write("" if held is None else held.getvalue())
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; flags that a command does not have are refused with a pointer to its help."""
    top = parser(argv[0] if argv else None)
    arguments, unknown = top.parse_known_args(argv)
    if unknown:
        command = "" if argv[0].startswith("-") else f" {argv[0]}"
        raise BadInput(f"unrecognized arguments: {' '.join(unknown)}; see: {top.prog}{command} --help")
    return arguments


class _OneLineParser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong with a command line."""

    def error(self, message: str) -> NoReturn:
        from leakgauge.support.table_reader import number_way_out

        way_out = number_way_out(message.partition("invalid float value: ")[2].strip("'"))
        raise BadInput(f"{message}{way_out}; see: {self.prog} --help")


def parser(name: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of one command, or of all commands if none has that name.

    Every file in this folder that has ``add_to`` is a command.
    """
    top = _OneLineParser(
        prog="leakgauge",
        description="Measure what a privacy-protected release really leaks about each person in it.",
    )
    top.add_argument("--version", action="version", version=f"leakgauge {VERSION}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    one = _command_modules((name or "").replace("-", "_"))
    for module in one or _command_modules():
        module.add_to(commands)
    for module in one:
        if name is not None and hasattr(module, "complete"):  # flags that need the domains: not for others
            module.complete(commands.choices[name])
    return top


def complete_words() -> None:
    """Answer the shell that completes a command, where argcomplete is installed; this ends the process."""
    try:
        import argcomplete
    except ImportError:
        return
    words = os.environ.get("COMP_LINE", "").split()
    argcomplete.autocomplete(parser(words[1] if len(words) > 1 else None))


def _command_modules(name: str | None = None) -> list[ModuleType]:
    """Import the files of this folder that are commands, or only the one of this name."""
    files = [file.name for file in iter_modules([str(Path(__file__).parent)]) if file.name != "main"]
    modules = [import_module(f"leakgauge.cli.{file}") for file in files if name in (None, file)]
    return [module for module in modules if hasattr(module, "add_to")]


def _print_traceback(error: BaseException) -> None:
    print(visible("".join(traceback.format_exception(error))), end="", file=sys.stderr)


def _print_error(message: object, code: int) -> int:
    print("leakgauge:", visible(" ".join(str(message).split())), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
