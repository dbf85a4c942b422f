"""Write the report of a run that has been judged: ``leakgauge report runs/plan``."""

import argparse
import json
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "report",
        help="write the report of a run",
        description="Write the report of a run. Exit code: 0 it is written, whatever it says, 2 bad input, "
        "3 the run is incomplete: an earlier result is reported, and the report says so; without one there "
        "is none.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="a run folder")
    parser.add_argument(
        "--format",
        choices=("html", "md", "csv", "json"),
        default="html",
        help="a page to read, Markdown, one line per number, or everything as JSON (default html)",
    )
    parser.add_argument("--json", action="store_true", help="print where the report is as JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the report and print where it is, and loudly if it is that of an incomplete run."""
    from leakgauge import api
    from leakgauge.core.errors import IncompleteRun
    from leakgauge.runner import manifest
    from leakgauge.runner.rollback import VERDICTS_FILE
    from leakgauge.runner.run_verdicts import read_verdicts
    from leakgauge.runner.status import incomplete_audits

    folder = arguments.folder
    command = manifest.how_to_continue(manifest.load(folder), folder)
    if not (folder / VERDICTS_FILE).exists() and (missing := incomplete_audits(folder)) is not None:
        raise IncompleteRun(
            f"{folder}: incomplete: {missing}; there is no result to report yet; continue with: {command}"
        )
    result, incomplete = read_verdicts(folder), incomplete_audits(folder)
    path = api.write_report(folder, result, style=arguments.format, incomplete=incomplete)
    print(
        json.dumps({"report": str(path), "complete": incomplete is None})
        if arguments.json
        else f"Report: {path}"
    )
    if incomplete is not None:
        raise IncompleteRun(
            f"{folder}: incomplete: {incomplete}; the report shows an earlier result; continue with: "
            f"{command}"
        )
    return 0
