"""Check a bundle that somebody handed over: ``leakgauge verify run.zip``."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakgauge.api import Verification

_MOST_LINES, _MOST_STATED = 20, 200
_LONGEST_LINE = 1000  # characters


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "verify",
        help="check the hashes of a bundle, and judge it again",
        description="Check the hashes of a bundle, judge its trials again, and say what differs. No code of "
        "the bundle is run, and no data or release are made. Exit code: 0 everything agrees, 1 something "
        "differs, 2 no bundle, or a file in it is damaged, missing, changed or added, 3 a part could not be "
        "compared, or 60 s of CPU time or 2 GB of memory were reached.",
    )
    parser.add_argument("file", metavar="FILE.zip", type=Path, help="a zip file that leakgauge bundle wrote")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the bundle and print what was found."""
    from leakgauge.api import verify

    found = verify(arguments.file)
    if arguments.json:
        print(json.dumps({**asdict(found), "exit_code": found.exit_code}))
    else:
        _print(found, arguments.file)
    return found.exit_code


def _print(found: "Verification", path: Path) -> None:
    if found.obstacle is not None:
        print(f"SHA-256: {found.sha256}")
        _print_line(f"Not checked to the end: {found.obstacle}.")
        print("Exit code 3: it could not be judged again.")
        return
    print(f"{path}: {found.files} files, all hashes agree")
    print(f"SHA-256: {found.sha256}")
    for version in found.other_versions[:_MOST_LINES]:
        _print_line(f"Other version: {version}")
    _print_differences(found)
    print("Taken as the bundle states; it follows from the data and the mechanism, which are not in it:")
    for text in found.stated[:_MOST_STATED]:
        _print_line(f"  {text}")
    if more := found.stated[_MOST_STATED:]:
        print(f"  and {len(more):,} more (--json lists all)")
    if found.left_out:
        _print_line(f"Left out by its owner: {'; '.join(found.left_out)}")
    print(
        "This shows that the verdicts follow from the trials in the bundle, not that the trials are those of "
        "the release: compare the SHA-256 with the one its owner published."
    )
    print(f"Exit code {found.exit_code}: {_meaning(found)}.")


def _meaning(found: "Verification") -> str:
    if found.differences:
        versions = "; other versions judged it: install those to see whether that is why"
        return f"the bundle differs from what its trials give{versions if found.other_versions else ''}"
    return (
        f"not compared: {', '.join(found.not_compared)}; the rest agrees"
        if found.exit_code
        else "everything agrees"
    )


def _print_differences(found: "Verification") -> None:
    print(f"Judged again from the trials: {found.verdicts} verdict{'' if found.verdicts == 1 else 's'}")
    for one in found.differences[:_MOST_LINES]:
        stated, again = one.stated[:60], one.found[:60]
        _print_line(f"Differs: {one.where[:80]}: {one.field[:80]}: {stated} in the bundle, {again} again")
    if found.n_differences > _MOST_LINES:
        print(f"and {found.n_differences - _MOST_LINES:,} more (--json lists up to 1,000)")
    if found.differences:
        return
    print(f"Verdicts, summary{', plan and report' if found.report_compared else ' and plan'} agree.")
    if not found.report_compared:
        charts = "its charts are not those that are drawn here (other fonts, or a changed picture)"
        why = "other versions wrote it" if found.other_versions else charts
        print(
            f"report.html was not compared: {why}; do not rely on it, write it again with leakgauge report "
            "after unpacking"
        )
    if found.exposure:
        print("Not compared: how many people are exposed (exposure.json); the data are not in it.")
    if found.transcripts:
        print("Not compared: answers of a service with the stated noise; the transcripts are not in it.")


def _print_line(text: str) -> None:
    print(text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}... (cut)")
