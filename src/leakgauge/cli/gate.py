"""Decide whether a release may go out: ``leakgauge gate runs/plan --policy policy.toml``."""

import argparse
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "gate",
        help="decide by promise and limits whether a release may go out",
        description="Decide whether the release of a run may go out, by its promise and the owner's limits. "
        "The run folder is left as it is. Exit code: 0 it may, 1 the promise is violated, a limit is "
        "exceeded or the risk rose above the baseline, 2 bad input, 3 undecided, incomplete or nothing "
        "asked.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="a run folder")
    parser.add_argument(
        "--policy", metavar="FILE", type=Path, help="limits from this file instead of those of the run"
    )
    parser.add_argument(
        "--baseline",
        metavar="DIR",
        type=Path,
        help="an earlier run; no attacker may do clearly better than there",
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="write the results as JUnit XML")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write a comment in Markdown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Judge the run, print the answers, write the files and return the exit code."""
    from dataclasses import asdict, replace

    from leakgauge.api import judged_run
    from leakgauge.cli import verdict_table
    from leakgauge.limits import read_policy
    from leakgauge.report import gate_files
    from leakgauge.runner.baseline import BaselineResult, compare_with_baseline, with_baseline
    from leakgauge.runner.run_verdicts import gate_folder
    from leakgauge.support.files import write_file

    limits = None if arguments.policy is None else read_policy(arguments.policy)
    result = gate_folder(arguments.folder, limits)
    compared = BaselineResult()
    if arguments.baseline is not None:
        covers = tuple(result.summary.covers)
        compared = compare_with_baseline(arguments.folder, arguments.baseline, covers)
        result = replace(result, summary=with_baseline(result.summary, compared.comparisons))
    if arguments.junit is not None:
        write_file(arguments.junit, gate_files.junit_text(result, compared.comparisons).encode())
    if arguments.markdown is not None:
        comment = gate_files.gate_comment(judged_run(arguments.folder, result), compared)
        write_file(arguments.markdown, comment.encode())
    if arguments.json:
        entries = [asdict(comparison) for comparison in compared.comparisons]
        verdict_table.print_json(result, baseline=entries, baseline_notes=list(compared.notes))
    else:
        verdict_table.print_answers(verdict_table.with_expose_command(result, arguments.folder))
        for line in gate_files.baseline_lines(compared):
            print(line)
    return result.summary.exit_code
