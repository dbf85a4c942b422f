"""Find the most useful settings under a limit: ``leakgauge tune plan.toml --limit accuracy=0.6``."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from leakgauge.core.errors import BadInput

if TYPE_CHECKING:
    from leakgauge.limits import Limits


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "tune",
        help="find the most useful settings whose risk stays under your limit",
        description="Find the most useful settings of a plan whose strongest attacker stays under your "
        "limit, and confirm them by a run with new random numbers. Exit code: 0 a setting was confirmed, "
        "2 bad input, 3 none could be confirmed.",
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, help="a TOML file")
    parser.add_argument(
        "--limit",
        metavar="METRIC=VALUE",
        action="append",
        default=[],
        help="what you allow, such as accuracy=0.6 or recognised=0.01; may be given several times, instead "
        "of the limits in the plan",
    )
    parser.add_argument(
        "--policy", metavar="FILE", type=Path, help="limits from this file instead of those in the plan"
    )
    parser.add_argument(
        "--vary",
        metavar="KEY[,KEY]",
        help="keys of the plan to vary, such as mechanism.epsilon,mechanism.suppress (default: how much "
        "noise there is)",
    )
    parser.add_argument("--audit", metavar="NAME", help="the audit to tune, where the plan has several")
    parser.add_argument(
        "--rounds",
        metavar="N",
        type=int,
        help="releases simulated to confirm a setting (default: the plan's)",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder of the results (default: runs/<name of the plan>-tune)",
    )
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="parallel workers (default: 1)")
    parser.add_argument("--seed", metavar="N", type=int, help="use this seed instead of the one in the plan")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Search, confirm, print the answer and the paths of the files."""
    from leakgauge.parameter_search import result as files
    from leakgauge.parameter_search.tune import tune
    from leakgauge.plan import read_plan

    result = tune(
        read_plan(arguments.plan, seed=arguments.seed),
        limits=_limits(arguments),
        vary=None
        if arguments.vary is None
        else [key.strip() for key in arguments.vary.split(",") if key.strip()],
        audit=arguments.audit,
        rounds=arguments.rounds,
        out=arguments.out,
        workers=arguments.workers,
    )
    paths = {"page": str(result.folder / files.PAGE_FILE)}
    if result.plan is not None:
        paths["plan"] = str(result.folder / files.PLAN_FILE)
    if arguments.json:
        print(json.dumps({**result.to_json(), "folder": str(result.folder), **paths}, default=str))
        return result.exit_code
    for line in result.lines:
        print(line)
    for name, path in reversed(paths.items()):
        print(f"{'Plan to publish with' if name == 'plan' else 'Page'}: {path}")
    if result.plan is not None and not result.plan_runs_in_place:
        print(f"Copy that plan to {result.plan.folder} to run it: it names files that are looked for there.")
    return result.exit_code


def _limits(arguments: argparse.Namespace) -> "Limits | None":
    """The limits of the command line or of a policy file; nothing where the plan's own count."""
    from leakgauge.limits import read_limits, read_policy
    from leakgauge.support.table_reader import number_way_out

    if arguments.limit and arguments.policy is not None:
        raise BadInput("--limit and --policy both state limits; leave out one of them")
    if arguments.policy is not None:
        return read_policy(arguments.policy)
    table = {}
    for text in arguments.limit:
        name, _, value = text.partition("=")
        try:
            table[name.strip()] = float(value)
        except ValueError:
            raise BadInput(
                f"--limit {text}: write METRIC=VALUE, such as --limit accuracy=0.6{number_way_out(value)}"
            ) from None
    return read_limits(table, "--limit") if table else None
