"""Run a plan, or continue it: ``leakgauge run plan.toml``."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from leakgauge.cli.engine_options import add_engine_options

if TYPE_CHECKING:
    from leakgauge.plan import Audit, Plan
    from leakgauge.runner.dry_run import RunCost


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "run",
        help="run a plan, or continue it",
        description="Run a plan, or continue it. Exit code: 0 the promise is not violated and the risk is "
        "within the limits, 1 violated or over a limit, 2 bad input, 3 undecided, incomplete or nothing "
        "asked.",
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, help="a TOML file")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="the run folder (default: runs/<name of the plan>, for plan.toml the name of its folder)",
    )
    parser.add_argument(
        "--policy", metavar="FILE", type=Path, help="limits from this file instead of those in the plan"
    )
    add_engine_options(parser)
    parser.add_argument(
        "--memory",
        metavar="GB",
        type=float,
        help="memory for the arrays of all workers here (default: a quarter of what is free); rounds that do "
        "not fit are refused before the first one",
    )
    parser.add_argument("--seed", metavar="N", type=int, help="use this seed instead of the one in the plan")
    parser.add_argument(
        "--fresh", action="store_true", help="remove the run that is in the folder, and start over"
    )
    parser.add_argument("--dry-run", action="store_true", help="estimate time and memory; write nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the plan and print its verdicts."""
    from leakgauge.plan import read_plan, with_policy

    plan = with_policy(read_plan(arguments.plan, seed=arguments.seed), arguments.policy)
    if arguments.dry_run:
        return _dry_run(plan, arguments)
    from leakgauge import api
    from leakgauge.cli import verdict_table
    from leakgauge.runner import manifest

    folder = arguments.out or api.default_folder(plan)
    result = api.run(
        plan,
        out=folder,
        fresh=arguments.fresh,
        engine=arguments.engine,
        workers=arguments.workers,
        address=arguments.address,
        memory=arguments.memory,
    )
    notes = manifest.data_notes(manifest.load(folder))
    if arguments.json:
        verdict_table.print_json(
            result, folder=str(folder), report=str(folder / "report.html"), data=list(notes)
        )
    else:
        verdict_table.print_table(verdict_table.with_expose_command(result, folder))
        for note, audits in notes.items():
            everywhere = len(audits) == len(plan.audits)
            print(f"Data: {note}" if everywhere else f"Data of {', '.join(audits)}: {note}")
        print(f"Report: {folder / 'report.html'}")
    return result.summary.exit_code


def _dry_run(plan: "Plan", arguments: argparse.Namespace) -> int:
    from leakgauge.report.adversary_names import attackers_and_settings
    from leakgauge.report.number_format import times
    from leakgauge.runner import engines
    from leakgauge.runner.dry_run import dry_run, duration_range
    from leakgauge.runner.run import EngineOptions

    engines.check_engine(arguments.engine, arguments.workers, arguments.address)
    options = EngineOptions(engine=arguments.engine, workers=arguments.workers, address=arguments.address)
    cost = dry_run(plan, options)
    limits = {
        audit.name: _rounds_for_limits(audit, plan, splits, n_targets) if repeatable else {}
        for audit, splits, n_targets, repeatable in zip(
            plan.audits, cost.splits, cost.n_targets, cost.repeatable, strict=True
        )
    }
    if arguments.json:
        print(json.dumps({**asdict(cost), "rounds_for_limits": limits}))
        return 0
    attackers = [(audit.name, one.label) for audit in plan.audits for one in audit.contenders]
    basis = "" if cost.measured == cost.audits else f" (measured on {cost.measured} of {cost.audits} audits)"
    takes = duration_range(*cost.seconds_range)
    print(f"{times(cost.audits, 'audit')}, {attackers_and_settings(attackers)}")
    print(f"{times(cost.rounds, 'round')} in {times(cost.blocks, 'block')}, {times(cost.trials, 'trial')}")
    print(f"time: about {takes} with {times(arguments.workers, 'worker')}{basis}")
    print(
        f"memory: about {cost.memory / 1e6:,.1f} MB besides the program"
        f"{', of which every worker holds a copy' if arguments.workers > 1 else ''}"
    )
    for line in _control_and_work_lines(cost):
        print(line)
    for note in cost.notes:
        print(f"Data: {note}")
    for audit, n_targets in zip(plan.audits, cost.n_targets, strict=True):
        for name, rounds in limits[audit.name].items():
            print(f"limit on {name}: {_enough_rounds(audit, rounds, n_targets)}")
    for audit, repeatable in zip(plan.audits, cost.repeatable, strict=True):
        if plan.limits.metrics and not repeatable:
            print(
                f"limits: {audit.name} is one finished release, so no more rounds can be simulated; whether "
                "a limit is kept is decided by its records, and the more they are, the surer"
            )
    print("nothing was written")
    return 0


def _enough_rounds(audit: "Audit", needed: int | None, n_targets: int) -> str:
    """Whether the planned rounds can show that a release is within a limit, and how many to write."""
    from leakgauge.report.number_format import times
    from leakgauge.risk import MOST_TARGETS_TRIED

    planned = f"the {times(audit.rounds, 'round')} of {audit.name}"
    if needed is None:
        return f"{planned} cannot show that it is kept, and no number of rounds is known that could"
    targets = times(min(n_targets, MOST_TARGETS_TRIED), "target")
    basis = f"about {needed:,} for {targets} if attackers learn nothing, more if they do"
    if needed <= audit.rounds:
        return f"{planned} suffice ({basis})"
    return f"{planned} are too few: write rounds = {needed} or more ({basis})"


def _control_and_work_lines(cost: "RunCost") -> "Iterator[str]":
    """What the positive controls take of the time, and how many trainings and requests there are."""
    from leakgauge.report.number_format import times
    from leakgauge.runner.dry_run import duration

    if cost.control_rounds:
        rounds = times(cost.control_rounds, "round")
        yield f"positive control: {rounds}, {duration(cost.control_seconds)} of this time"
    for obstacle in cost.control_obstacles:
        yield f"positive control not possible: {obstacle}"
    for what, n in cost.work.items():
        yield f"{times(n, what)}, {cost.control_work.get(what, 0):,} of them for the positive control"
    if cost.further_requests:
        yield (
            f"at most {cost.further_requests:,} of the requests are asked by the auditor besides: beyond the "
            "budget, many at once, about all and nobody, and with and without a target"
        )
    if cost.request_total is not None:
        again = "one start is enough"
        if cost.starts > 1:
            again = f"start the same command about {cost.starts} times; finished blocks are kept"
        yield f"service.total = {cost.request_total:,} requests for each start of an audit: {again}"


def _rounds_for_limits(audit: "Audit", plan: "Plan", splits: int, n_targets: int) -> "dict[str, int | None]":
    from leakgauge.plan import sweep_size
    from leakgauge.risk import MOST_TARGETS_TRIED, rounds_for_limits

    confidence = audit.metrics.confidence
    return rounds_for_limits(
        plan.limits,
        confidence=confidence,
        sweep_points=sweep_size(audit, plan),
        splits=splits,
        n_targets=min(n_targets, MOST_TARGETS_TRIED),
    )
