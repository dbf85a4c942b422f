"""Write a run as one zip file that others can check: ``leakgauge bundle runs/plan``."""

import argparse
import json
import shlex
from dataclasses import asdict
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "bundle",
        help="write a run as one zip file that others can check",
        description="Write one zip file with the report, plan, verdicts and trials of a run and the "
        "SHA-256 hash of each file. Names of people and paths of files are hidden; exposure.csv and "
        "transcripts are left out. The same folder gives the same bytes. Exit code: 0 written, 2 bad input, "
        "3 the run is incomplete.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="a run folder")
    parser.add_argument(
        "--out", metavar="FILE.zip", type=Path, help="the zip file (default: DIR.zip, beside the folder)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the bundle and print what is in it."""
    from leakgauge.api import bundle

    written = bundle(arguments.folder, out=arguments.out)
    if arguments.json:
        print(json.dumps(asdict(written), default=str))
        return 0
    print(f"Bundle: {written.path} ({written.files} files)")
    print(f"SHA-256: {written.sha256}")
    print(f"Hidden: {'; '.join(written.hidden) or 'nothing, the plan names no person and no file'}")
    print(f"Left out: {'; '.join(written.left_out) or 'nothing'}")
    print("The title, owner and names of audits are shown as the plan writes them.")
    print(f"Check it with: {shlex.join(['leakgauge', 'verify', str(written.path)])}")
    return 0
