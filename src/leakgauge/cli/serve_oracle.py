"""Serve the oracle of a plan over HTTP: ``leakgauge serve-oracle plan.toml``."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from leakgauge.core.errors import BadInput

if TYPE_CHECKING:
    from leakgauge.plan import Audit, Plan


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "serve-oracle",
        help="serve the simulated query service of a plan over HTTP",
        description=(
            "Serve the simulated query service of a plan over HTTP on 127.0.0.1, until Ctrl-C. Clients "
            "need a token: that of "
            "the environment variable LEAKGAUGE_TOKEN, or else one that is generated and shown once. "
            "Needs: pip install 'leakgauge[service]'."
        ),
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, help="a TOML file")
    parser.add_argument("--audit", metavar="NAME", help="which audit of the plan, if it has several")
    parser.add_argument(
        "--port", metavar="N", type=int, default=8700, help="0: any free port (default: 8700)"
    )
    parser.add_argument("--seed", metavar="N", type=int, help="use this seed instead of the one in the plan")
    parser.add_argument("--json", action="store_true", help="print the address as JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Build the oracle, announce its address, and serve it until it is stopped."""
    from leakgauge import catalog
    from leakgauge.plan import read_plan

    plan = read_plan(arguments.plan, seed=arguments.seed)
    audit = _audit(plan, arguments.audit)
    domain = catalog.get_domain(audit.domain)
    if (server := domain.server) is None:
        served = ", ".join(other.name for other in catalog.all_domains() if other.server is not None)
        raise BadInput(
            f"{plan.path}: audit {audit.name!r} is about {domain.name}; only {served} can be served"
        )
    domain.load(server.check_libraries)()
    local = {key: value for key, value in audit.challenger.items() if key not in server.omitted_keys}
    audit = replace(audit, challenger=local)
    with catalog.audit_error_context(audit, plan):
        challenger = catalog.build_challenger(audit, plan)

    def announce(url: str, new_token: str | None) -> None:
        _print_address(url, audit.name, new_token, arguments.json)

    domain.load(server.function)(challenger, port=arguments.port, announce=announce)
    return 0


def _audit(plan: "Plan", name: str | None) -> "Audit":
    """Find the audit whose oracle is served."""
    from leakgauge.support.table_reader import require_known

    names = [audit.name for audit in plan.audits]
    if name is None and len(names) > 1:
        raise BadInput(f"{plan.path}: holds {len(names)} audits; add --audit, one of {', '.join(names)}")
    if name is not None:
        require_known(name, names, f"--audit: no audit in {plan.path}")
    return next(audit for audit in plan.audits if audit.name == (name or names[0]))


def _print_address(url: str, audit: str, new_token: str | None, as_json: bool) -> None:
    """Print the address at once to standard error, because standard output may be held back to the end."""
    if as_json:
        lines = [json.dumps({"url": url, "audit": audit, "token": new_token})]
    else:
        lines = [f"audit {audit!r} is served at {url}; Ctrl-C stops it"]
        lines.append(
            "clients need the token in LEAKGAUGE_TOKEN"
            if new_token is None
            else f"clients need this token, which is shown only once: export LEAKGAUGE_TOKEN={new_token}"
        )
    print("\n".join(lines), file=sys.stderr, flush=True)
