"""Show how many rounds of a run are complete: ``leakgauge status runs/plan``."""

import argparse
import json
import shlex
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

    status = run_status(arguments.folder)
    if arguments.json:
        print(json.dumps({**asdict(status), "complete": status.complete}))
        return 0
    for audit in status.audits:
        state = "complete" if audit.complete else "incomplete"
        print(f"{audit.audit}: {audit.played:,} of {audit.rounds:,} rounds, {state}")
    print(f"begun with: {', '.join(f'{name} {version}' for name, version in status.versions.items())}")
    if status.running:
        print("a run is writing to it now")
    elif status.obstacle:
        print(f"cannot be continued: {status.obstacle}; or start over: {status.continue_command} --fresh")
    elif status.continue_command:
        print(f"continue with: {status.continue_command}")
    elif not status.judged:
        print(f"not judged yet: {shlex.join(['leakgauge', 'judge', status.folder])}")
    return 0
