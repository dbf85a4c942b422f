"""List what a plan may use: ``leakgauge show attacks --domain D``."""

import argparse
import json


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser("show", help="list what a plan may use")
    parser.add_argument("what", choices=["attacks", "domains", "knowledge", "mechanisms", "metrics"])
    parser.add_argument("--domain", metavar="D", help="attacks, knowledge and mechanisms of this domain only")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one name per line, with its description."""
    from leakgauge import catalog

    found = catalog.describe(arguments.what, arguments.domain)
    if arguments.json:
        print(
            json.dumps([{"name": name, "about": about} for name, about in found.items()], ensure_ascii=False)
        )
        return 0
    width = max(map(len, found), default=0)
    for name, about in found.items():
        print(f"{name:{width}}  {about}".rstrip())
    return 0
