"""List what a plan may name: ``leakgauge show attacks --domain D``."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakgauge.catalog_entries import Entry

_TYPE_WIDTH = 40


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser("show", help="list what a plan may name")
    parser.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        help="attacks, mechanisms, metrics, keys and so on; leave it out to see all that can be listed",
    )
    parser.add_argument("--domain", metavar="D", help="only what belongs to this domain")
    parser.add_argument("--json", action="store_true", help="print JSON, with the parameters of each entry")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one name per line, with its description."""
    from leakgauge import catalog
    from leakgauge.catalog_entries import KEYS, Entry, list_entries

    if arguments.what is None:
        kinds = catalog.describe_kinds()
        entries = [Entry(kind="kinds of things", name=name, about=about) for name, about in kinds.items()]
    else:
        entries = list_entries(arguments.what, arguments.domain)
    if arguments.json:
        print(json.dumps([entry.table() for entry in entries]))
    elif arguments.what == KEYS:
        _print_keys(entries)
    else:
        _print_lines(entries, with_domain=arguments.domain is None)
    return 0


def _print_lines(entries: "Sequence[Entry]", *, with_domain: bool) -> None:
    names = [
        f"{entry.domain}: {entry.name}"
        if with_domain and entry.domain and entry.kind != "kinds"
        else entry.name
        for entry in entries
    ]
    width = max(map(len, names), default=0)
    for name, entry in zip(names, entries):
        print(f"{name:{width}}  {entry.about}".rstrip())


def _print_keys(entries: "Sequence[Entry]") -> None:
    """Print the keys of one form of a table after the other, each with type, default and a line."""
    width = max(len(entry.name) for entry in entries)
    heading = None
    for entry in entries:
        (found,) = entry.parameters
        group = (entry.name.split(".")[0] if "." in entry.name else "", found["with"])
        if group != heading:
            heading = group
            title = f"{group[0]}, with {group[1]}:" if group[1] else f"{group[0]}:"
            print(*(["", title] if group[0] else ["top of the file:"]), sep="\n")
        kind = found["type"] if len(found["type"]) <= _TYPE_WIDTH else found["type"][: _TYPE_WIDTH - 1] + "…"
        default = f" [{found['default']}]" if found["default"] else ""
        print(f"  {entry.name:{width}}  {kind}{default}: {entry.about}")
