"""Show how many rounds of a run are complete: ``leakgauge status runs/plan``."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser("status", help="show how many rounds of a run are complete")
    parser.add_argument("folder", metavar="DIR", type=Path, help="a run folder")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line per audit."""
    from leakgauge.runner.status import run_status

    found = run_status(arguments.folder)
    if arguments.json:
        print(json.dumps({**asdict(found), "complete": found.complete}))
        return 0
    for audit in found.audits:
        state = "complete" if audit.complete else "incomplete"
        print(f"{audit.audit}: {audit.played:,} of {audit.rounds:,} rounds, {state}")
    print(f"begun with: {', '.join(f'{name} {version}' for name, version in found.versions.items())}")
    if found.running:
        print("a run is writing to it now")
    elif found.obstacle:
        print(f"cannot be continued: {found.obstacle}; or start over: {found.way_on} --fresh")
    elif found.way_on:
        print(f"continue with: {found.way_on}")
    elif not found.judged:
        print(f"not judged yet: leakgauge judge {found.folder}")
    return 0
