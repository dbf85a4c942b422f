"""Check a bundle that somebody handed over: ``leakgauge verify run.zip``."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakgauge.api import Verification

_MOST_LINES = 20


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "verify",
        help="check the hashes of a bundle, and judge it again",
        description="Check the hashes of a bundle, judge its trials again, and say what differs. No code of "
        "the bundle is run. Exit code: 0 everything agrees, 1 something differs, 2 no bundle, or a file in "
        "it is damaged, missing, changed or added, 3 it could not be judged again with the same versions.",
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
    print(f"{path}: {found.files} files, all hashes agree")
    print(f"SHA-256: {found.sha256}")
    if found.obstacle is not None:
        print(f"Not judged again: {found.obstacle}. Use that version of leakgauge.")
        print("Exit code 3: it could not be judged again.")
        return
    for version in found.other_versions:
        print(f"Other version: {version}")
    _print_differences(found)
    if found.transcripts:
        print(
            "Not judged again: how the answers compare with the stated noise; the transcripts are not in it."
        )
    if found.exposure == "recomputed":
        print("Computed again: how many people are exposed (exposure.json)")
    elif found.exposure != "none":
        print(
            "Not checked: how many people are exposed (exposure.json). Computing it again needs data or code "
            "of its owner that are not in the bundle."
        )
    if found.left_out:
        print(f"Left out by its owner: {'; '.join(found.left_out)}")
    print(
        "This shows that the verdicts follow from the trials in the bundle, not that the trials are those of "
        "the release: compare the SHA-256 with the one its owner published."
    )
    meaning = _MEANINGS[found.exit_code]
    if found.exit_code == 3 and not found.differences:
        what = "the report was not compared" if not found.report_compared else "exposure.json was not checked"
        meaning = f"{what}; the rest agrees"
    print(f"Exit code {found.exit_code}: {meaning}.")


_MEANINGS = {
    0: "everything agrees",
    1: "the bundle differs from what its trials give",
    3: "it differs, and other versions judged it; install those to decide",
}


def _print_differences(found: "Verification") -> None:
    print(f"Judged again from the trials: {found.verdicts} verdict{'' if found.verdicts == 1 else 's'}")
    for one in found.differences[:_MOST_LINES]:
        stated, again = _short(one.stated), _short(one.found)
        print(f"Differs: {one.where}: {one.field}: {stated} in the bundle, {again} again")
    if more := found.differences[_MOST_LINES:]:
        print(f"and {len(more)} more (--json lists all)")
    if found.differences:
        return
    if found.report_compared:
        print(
            "Verdicts, summary, plan and report agree. Of charts, words are compared, and not where lines, "
            "bars and numbers stand."
        )
    else:
        print("Verdicts, summary and plan agree. The report was not compared: other versions wrote it.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
