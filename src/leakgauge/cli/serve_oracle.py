"""Serve the oracle of a plan over HTTP: ``leakgauge serve-oracle plan.toml``."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakgauge.plan import Audit, Plan


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "serve-oracle",
        help="serve the oracle of a plan over HTTP, on this machine",
        description=(
            "Serve the oracle of a plan over HTTP on 127.0.0.1, until Ctrl-C. Whoever asks needs the token: "
            "that of the environment variable LEAKGAUGE_TOKEN, or one that is made up and told once. "
            "Needs: pip install 'leakgauge[service]'."
        ),
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, help="a TOML file")
    parser.add_argument("--audit", metavar="NAME", help="which audit of the plan, if it has several")
    parser.add_argument(
        "--port", metavar="N", type=int, default=8700, help="0: any that is free (default: 8700)"
    )
    parser.add_argument("--seed", metavar="N", type=int, help="instead of the seed in the plan")
    parser.add_argument("--json", action="store_true", help="tell where it listens in JSON")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Build the oracle, tell where it listens, and serve it."""
    from leakgauge import catalog
    from leakgauge.domains.queries.service import server
    from leakgauge.plan import read_plan

    server.require_fastapi()
    plan = read_plan(arguments.plan, seed=arguments.seed)
    audit = _audit(plan, arguments.audit)
    with catalog.audit_error_context(audit, plan):
        challenger = catalog.build_challenger(audit, plan)
    token, made_up = server.read_token()
    door = server.listen(arguments.port)
    host, port = door.getsockname()
    _tell(f"http://{host}:{port}", audit.name, token if made_up else None, arguments.json)
    server.serve(challenger.table, challenger.rules, token, door)
    return 0


def _audit(plan: "Plan", name: str | None) -> "Audit":
    """Find the audit whose oracle is served; where its plan would have that asked elsewhere, it is here."""
    from leakgauge.core.errors import BadInput
    from leakgauge.domains.queries.plan_tables import SERVICE_KEYS
    from leakgauge.support.table_reader import require_known

    names = [audit.name for audit in plan.audits]
    if name is None and len(names) > 1:
        raise BadInput(f"{plan.path}: holds {len(names)} audits; add --audit, one of {', '.join(names)}")
    if name is not None:
        require_known(name, names, f"--audit: no audit in {plan.path}")
    (audit,) = (audit for audit in plan.audits if audit.name == (name or names[0]))
    if audit.domain != "queries":
        raise BadInput(f"{plan.path}: audit {audit.name!r} is about {audit.domain}; only queries are served")
    here = {key: value for key, value in audit.challenger.items() if key not in SERVICE_KEYS}
    return replace(audit, challenger=here)


def _tell(url: str, audit: str, made_up: str | None, as_json: bool) -> None:
    """Say at once where it listens: to standard error, for standard output may be held back to the end."""
    if as_json:
        words = [json.dumps({"url": url, "audit": audit, "token": made_up})]
    else:
        words = [f"audit {audit!r} is served at {url}; Ctrl-C ends it"]
        words.append(
            "the token is that of LEAKGAUGE_TOKEN"
            if made_up is None
            else f"for whoever asks, and told this once: export LEAKGAUGE_TOKEN={made_up}"
        )
    print("\n".join(words), file=sys.stderr, flush=True)
