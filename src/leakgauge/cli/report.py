"""Write the report of a run that has been judged: ``leakgauge report runs/plan``."""

import argparse
import json
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser("report", help="write the report of a run")
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
    """Write the report and print where it is."""
    from leakgauge import api
    from leakgauge.runner.run_verdicts import read_verdicts

    path = api.write_report(arguments.folder, read_verdicts(arguments.folder), style=arguments.format)
    print(json.dumps({"report": str(path)}) if arguments.json else f"Report: {path}")
    return 0
