"""Judge the trials of a run folder, or scores from another tool: ``leakgauge judge scores.csv``."""

import argparse
from pathlib import Path

from leakgauge.core.errors import BadInput


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "judge",
        help="judge a run folder, or a file of scores",
        description="Judge a run folder, or a CSV file with the columns member and score, and optionally "
        "round and target. Exit code: 0 the promise is not violated and the risk is within the "
        "limits, 1 violated or over a limit, 2 bad input, 3 undecided, incomplete or nothing asked.",
    )
    parser.add_argument("what", metavar="DIR|SCORES.csv", type=Path)
    parser.add_argument(
        "--policy", metavar="FILE", type=Path, help="limits from this file instead of those of the run"
    )
    scores = parser.add_argument_group("for a file of scores")
    scores.add_argument(
        "--epsilon", metavar="E", type=float, help="the promised epsilon (default: no promise)"
    )
    scores.add_argument("--delta", metavar="D", type=float, help="the promised delta (default: 0)")
    scores.add_argument(
        "--confidence", metavar="C", type=float, help="confidence level of all intervals (default: 0.95)"
    )
    scores.add_argument(
        "--coins",
        choices=["fair", "given"],
        help="fair: members were chosen at random, independently with probability one half; given: "
        "anything else (default)",
    )
    scores.add_argument("--seed", metavar="N", type=int, help="for breaking ties (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Judge and print verdicts."""
    from leakgauge.cli import verdict_table
    from leakgauge.limits import read_policy
    from leakgauge.runner.in_memory import judge_file
    from leakgauge.runner.run_verdicts import judge_folder

    limits = None if arguments.policy is None else read_policy(arguments.policy)
    names = ("epsilon", "delta", "confidence", "coins", "seed")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    if arguments.what.is_dir():
        if given:
            raise BadInput(
                f"--{next(iter(given))} is for a file of scores; a run folder holds its own promise"
            )
        result = judge_folder(arguments.what, limits)
    else:
        if "delta" in given and "epsilon" not in given:
            raise BadInput(f"--delta {given['delta']} needs an epsilon; add --epsilon")
        result = judge_file(arguments.what, limits=limits, **given)
    if arguments.json:
        verdict_table.print_json(result)
    else:
        verdict_table.print_table(verdict_table.with_expose_command(result, arguments.what), report=False)
    return result.summary.exit_code
