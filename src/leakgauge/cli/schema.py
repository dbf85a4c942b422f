"""Print the JSON Schema of plans, for editors: ``leakgauge schema > plan.schema.json``."""

import argparse
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "schema",
        help="print the JSON Schema of plans, for editors",
        description="Print the JSON Schema of plans. An editor that understands TOML uses it where the first "
        "line of a plan is: #:schema ./plan.schema.json",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="write it to a file")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the schema."""
    from leakgauge.core.errors import BadInput
    from leakgauge.plan_schema import schema_text
    from leakgauge.support.files import write_file

    text = schema_text()
    if arguments.out is None:
        print(text.rstrip("\n"))
    else:
        if arguments.out.is_file() and not arguments.out.read_bytes().lstrip().startswith(b"{"):
            raise BadInput(f"{arguments.out}: is there already and is no JSON; choose another --out")
        write_file(arguments.out, text.encode())
        print(f"Wrote {arguments.out}")
    return 0
