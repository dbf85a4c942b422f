"""The command ``leakgauge``.

Exit codes: 0 done, 1 violated, 2 bad input, 3 undecided or incomplete, 130 interrupted; 70 is a fault in
leakgauge itself, never a finding.
"""

import argparse
import io
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.version import VERSION

FAULT, INTERRUPTED = 70, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, call the command, and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    arguments = parser().parse_args(argv)
    try:
        return _run(arguments)
    except BadInput as error:
        return _say(error, 2)
    except IncompleteRun as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        return _say(error, 3)
    except KeyboardInterrupt:
        again = shlex.join(["leakgauge", *argv])
        return _say(
            f"interrupted; what is finished is kept, and the same command continues: {again}", INTERRUPTED
        )
    except Exception:
        traceback.print_exc()
        return _say("this is a fault in leakgauge; please report it with the lines above", FAULT)


def _run(arguments: argparse.Namespace) -> int:
    """Call the command; its exit code counts even if whoever reads its output has left."""
    if sys.stdout.isatty():
        return int(arguments.command(arguments))
    told = io.StringIO()
    try:
        with redirect_stdout(told):
            return int(arguments.command(arguments))
    finally:
        try:
            sys.stdout.write(told.getvalue())
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """Build the parser; every file beside this one that has ``add_to`` is a command."""
    top = argparse.ArgumentParser(
        prog="leakgauge",
        description="Measure what a privacy-protected release really leaks about each person in it.",
    )
    top.add_argument("--version", action="version", version=f"leakgauge {VERSION}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in iter_modules([str(Path(__file__).parent)]):
        if module.name != "main" and hasattr(
            command := import_module(f"leakgauge.cli.{module.name}"), "add_to"
        ):
            command.add_to(commands)
    return top


def _say(message: object, code: int) -> int:
    print("leakgauge:", " ".join(str(message).split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
