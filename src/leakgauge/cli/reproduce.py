"""Reproduce the figures and tables of a paper: ``leakgauge reproduce liu24 --only figure_6``."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from leakgauge.cli.engine_options import add_engine_options

if TYPE_CHECKING:
    from leakgauge.papers.paper import Reproduction


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "reproduce",
        help="reproduce the figures and tables of a paper",
        description="Reproduce the figures and tables of a paper and compare them with the published values. "
        "If it was interrupted, the same command continues it.",
    )
    parser.add_argument("paper", metavar="PAPER", help="a paper's short name, such as liu24")
    parser.add_argument("--only", metavar="ITEM", help="one figure or table, such as figure_6")
    parser.add_argument(
        "--scale",
        choices=["quick", "full"],
        default="quick",
        help="quick: fewer rounds; full: as many as in the paper (default: quick)",
    )
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="folder of the data sets that some items need"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="output folder (default: runs/reproduce-PAPER)"
    )
    add_engine_options(parser)
    parser.add_argument("--seed", metavar="N", type=int, help="use this seed instead of the default one")
    parser.add_argument("--fresh", action="store_true", help="remove the runs of these items, and start over")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Reproduce the paper and print how its numbers compare."""
    from leakgauge.papers.reproduction import SEED, reproduce

    reproduction = reproduce(
        arguments.paper,
        only=arguments.only,
        scale=arguments.scale,
        data=arguments.data,
        out=arguments.out,
        seed=SEED if arguments.seed is None else arguments.seed,
        fresh=arguments.fresh,
        engine=arguments.engine,
        workers=arguments.workers,
        address=arguments.address,
    )
    if arguments.json:
        print(json.dumps(reproduction.to_json()))
        return 0
    _print_table(reproduction)
    print(f"Page: {reproduction.page}")
    return 0


def _print_table(reproduction: "Reproduction") -> None:
    """Print how many numbers agree, differ or are not compared, and list those that differ."""
    from leakgauge.papers.comparison import Agreement, format_exact

    counts = ", ".join(f"{reproduction.count(agreement)} {agreement.value}" for agreement in Agreement)
    print(f"{reproduction.name}: {counts}")
    for item in reproduction.items:
        print(item.item.title)
        for cell in item.result.cells:
            if cell.verdict is Agreement.DIFFERS and cell.ours is not None:
                print(f"  differs: {cell.setting}: {format_exact(cell.ours.value)}. {cell.reason}")
