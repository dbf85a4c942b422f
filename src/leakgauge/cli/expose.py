"""Compute how exposed each person or record is: ``leakgauge expose plan.toml``."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakgauge.cli.engine_options import add_engine_options
from leakgauge.core.errors import BadInput

_LOG_OPTIONS = ("contains", "data", "id", "delta", "secret")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "expose",
        help="compute how exposed each person or record is",
        description=(
            "Compute how well attackers could identify each person in the data, or each record from the "
            "answers of a query log, without simulating any release where that can be computed. The only "
            "file that lists individuals, exposure.csv, can be read by its owner alone."
        ),
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, nargs="?", help="a TOML file")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="the run folder (default: the one that leakgauge run uses, or runs/<name of the log>)",
    )
    add_engine_options(
        parser, work="the computation", workers=None, default="threads on all cores of this machine"
    )
    parser.add_argument("--seed", metavar="N", type=int, help="use this seed instead of the one in the plan")
    parser.add_argument("--json", action="store_true", help="print JSON, without individuals")
    log = parser.add_argument_group("instead of a plan, the log of a query service")
    log.add_argument(
        "--query-log", metavar="FILE", type=Path, help="a row for each query: CSV, Parquet or JSON lines"
    )
    log.add_argument(
        "--contains", metavar="FILE", type=Path, help="a row (query, record) for each record of each query"
    )
    log.add_argument("--data", metavar="FILE", type=Path, help="the table that predicates select from")
    log.add_argument("--id", metavar="COLUMN", help="column of the ids in that table (default: id)")
    log.add_argument(
        "--delta",
        metavar="X",
        type=float,
        help="delta at which epsilon of Gaussian answers is computed (default: 1e-5)",
    )
    log.add_argument(
        "--secret",
        metavar="COLUMN",
        help="column of that table with two values: in how many records do the answers (column answer of the "
        "log) give it away?",
    )
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Compute the exposure of the plan or the log; print quantiles and the paths of the files."""
    from leakgauge import exposure
    from leakgauge.report.sections.exposure import exposure_notes

    exposures, folder = _log(arguments) if arguments.query_log is not None else _plan(arguments)
    summary = exposure.summarise(exposures)
    files = {"people": str(folder / exposure.PEOPLE_FILE), "page": str(folder / "exposure.html")}
    if arguments.json:
        print(json.dumps({**summary, "folder": str(folder), **files}))
        return 0
    for audit in summary["audits"]:
        _print_audit(audit)
    for line in exposure_notes(summary["audits"]):
        print(line)
    print(f"Individuals (keep this file private): {files['people']}")
    print(f"Page: {files['page']}")
    return 0


def _plan(arguments: argparse.Namespace) -> tuple[list[Any], Path]:
    from leakgauge import api
    from leakgauge.plan import read_plan

    if given := [name for name in _LOG_OPTIONS if getattr(arguments, name) is not None]:
        raise BadInput(f"--{given[0]} belongs to a query log; add --query-log FILE, or leave it out")
    if arguments.plan is None:
        raise BadInput("nothing to expose: name a plan, or add --query-log FILE")
    plan = read_plan(arguments.plan, seed=arguments.seed)
    folder = arguments.out or api.default_folder(plan)
    engine = {"engine": arguments.engine, "workers": arguments.workers, "address": arguments.address}
    return api.expose(plan, out=folder, **engine), folder


def _log(arguments: argparse.Namespace) -> tuple[list[Any], Path]:
    from leakgauge import api

    if arguments.plan is not None or arguments.seed is not None:
        raise BadInput("--query-log is instead of a plan and its seed; leave one of the two out")
    if arguments.workers is not None or arguments.engine != "local" or arguments.address is not None:
        raise BadInput(
            "--workers, --engine and --address are for plans; a query log is computed by one process: leave "
            "them out"
        )
    log = arguments.query_log
    folder = arguments.out or Path("runs") / log.name.partition(".")[0]
    exposure = api.expose_log(
        log,
        contains=arguments.contains,
        data=arguments.data,
        id_column=arguments.id,
        delta=arguments.delta,
        secret=arguments.secret,
        out=folder,
    )
    return [exposure], folder


def _print_audit(audit: Mapping[str, Any]) -> None:
    from leakgauge.report.number_format import number
    from leakgauge.report.sections.exposure import (
        epsilon_quantiles,
        exposure_answer,
        exposure_title,
        group_rows,
        kairouz_basis,
        metric_quantiles,
        nominal_promise,
        personal_promise,
        spent_lines,
        unit_plural,
    )
    from leakgauge.report.sections.risk_utility import utility_sentence

    print(f"{audit['audit']}: {exposure_answer(audit)}")
    print(f"  Median / 95th percentile / maximum over all {unit_plural(audit)}:")
    names = list(audit["attackers"][0]["metrics"])
    rows = [["", *(exposure_title(name, names) for name in names), "error"]]
    for attacker in audit["attackers"]:
        cells = [metric_quantiles(name, attacker["metrics"][name]["quantiles"]) for name in names]
        rows.append([attacker["attacker"], *cells, number(attacker["error"])])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    if promised := audit["promised"]:
        print(f"  {nominal_promise(promised)}. {personal_promise(audit)}:")
        for name, words in (
            ("kairouz", kairouz_basis(audit)),
            ("tight", "from the noise distribution"),
        ):
            print(f"    {name.ljust(7)}  ε {epsilon_quantiles(promised[name])}, {words}")
    if useful := utility_sentence(audit["domain"], audit.get("utility")):
        print(f"  Utility: {useful}")
    for line in spent_lines(audit):
        print(f"  {line}")
    for name, people, accuracy, tpr in group_rows(audit):
        print(
            f"  {name}: {people} {unit_plural(audit)}, {accuracy} right, {tpr} found at 1 % false accusations"
        )
