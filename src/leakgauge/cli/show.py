"""List what a plan may name: ``leakgauge show attacks --domain D``."""

import argparse
import json


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser("show", help="list what a plan may name")
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        help="attacks, mechanisms, metrics and so on; leave it out to see all that can be listed",
    )
    parser.add_argument("--domain", metavar="D", help="only what belongs to this domain")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one name per line, with its description."""
    from leakgauge import catalog

    if arguments.what is None:
        lines = catalog.describe_kinds()
    else:
        lines = catalog.describe(arguments.what, arguments.domain)
    if arguments.json:
        print(json.dumps([{"name": name, "about": about} for name, about in lines.items()]))
        return 0
    width = max(map(len, lines), default=0)
    for name, about in lines.items():
        print(f"{name:{width}}  {about}".rstrip())
    return 0
