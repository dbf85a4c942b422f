"""Compute how exposed each person is, without playing: ``leakgauge expose plan.toml``."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "expose",
        help="compute how exposed each person is, without playing",
        description=(
            "Compute what adversaries would reach against each person of the data. The only file with people "
            "in it, exposure.csv, is written for its owner alone."
        ),
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, help="a TOML file")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="the run folder (default: runs/<name of the plan>)"
    )
    parser.add_argument("--seed", metavar="N", type=int, help="instead of the seed in the plan")
    parser.add_argument("--json", action="store_true", help="print JSON; it names nobody")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Expose the people of the plan, and print quantiles and where the files are."""
    from leakgauge import api, exposure
    from leakgauge.pages.exposure_words import resting_on
    from leakgauge.plan import read_plan

    plan = read_plan(arguments.plan, seed=arguments.seed)
    folder = arguments.out or api.default_folder(plan)
    summary = exposure.summarise(api.expose(plan, out=folder))
    files = {"people": str(folder / exposure.PEOPLE), "page": str(folder / "exposure.html")}
    if arguments.json:
        print(json.dumps({**summary, "folder": str(folder), **files}))
        return 0
    for audit in summary["audits"]:
        _print_audit(audit)
    for line in resting_on(summary["audits"]):
        print(line)
    print(f"People, for the owner of the data alone: {files['people']}")
    print(f"Page: {files['page']}")
    return 0


def _print_audit(audit: Mapping[str, Any]) -> None:
    from leakgauge.pages.exposure_words import answer, epsilons, label, spread, what_is_left
    from leakgauge.pages.numbers import number
    from leakgauge.pages.words import term

    print(f"{audit['audit']}: {answer(audit)}")
    print("  Half of the people / 95% of them / all are exposed at most so much:")
    names = list(audit["adversaries"][0]["metrics"])
    rows = [["", *(term(name).title for name in names), "error"]]
    for one in audit["adversaries"]:
        cells = [spread(name, one["metrics"][name]["quantiles"]) for name in names]
        rows.append([one["adversary"], *cells, number(one["error"])])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    if promised := audit["promised"]:
        print(f"  {label(promised)}. {what_is_left(promised)}:")
        for name, words in (
            ("kairouz", "by what is promised to each cell"),
            ("tight", "by the law of the noise"),
        ):
            print(f"    {name.ljust(7)}  ε {epsilons(promised[name])}, {words}")
