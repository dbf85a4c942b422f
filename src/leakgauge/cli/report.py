"""Write the report of a run that has been judged: ``leakgauge report runs/plan``."""

import argparse
import json
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "report",
        help="write the report of a run",
        description="Judge the trials of a run again and write its report. Exit code: 0 it is written, "
        "whatever it says, 2 bad input, 3 the run is incomplete: an earlier result is reported as "
        "verdicts.json states it, and the report says so; without one there is none.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="a run folder")
    parser.add_argument(
        "--policy", metavar="FILE", type=Path, help="limits from this file instead of those of the run"
    )
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
    from leakgauge.limits import read_policy
    from leakgauge.runner import manifest
    from leakgauge.runner.rollback import VERDICTS_FILE
    from leakgauge.runner.run_verdicts import gate_folder, read_verdicts
    from leakgauge.runner.status import incomplete_audits

    folder, limits = arguments.folder, arguments.policy and read_policy(arguments.policy)
    incomplete = incomplete_audits(folder)
    command = manifest.how_to_continue(manifest.load(folder), folder)
    if incomplete is not None and not (folder / VERDICTS_FILE).exists():
        raise IncompleteRun(
            f"{folder}: incomplete: {incomplete}; there is no result to report yet; continue with: {command}"
        )
    result = gate_folder(folder, limits) if incomplete is None else read_verdicts(folder)
    path = api.write_report(folder, result, style=arguments.format, incomplete=incomplete)
    print(
        json.dumps({"report": str(path), "complete": incomplete is None})
        if arguments.json
        else f"Report: {path}"
    )
    if incomplete is not None:
        raise IncompleteRun(
            f"{folder}: incomplete: {incomplete}; the report shows an earlier result, as verdicts.json "
            f"states it; continue with: {command}"
        )
    return 0
