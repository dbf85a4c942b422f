"""Audits of the services in ``noisy_count_services``, as their owners would run them."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from domains.queries.remote.noisy_count_services import TARGET, NoisyCounts, served, write_people
from leakgauge import api
from leakgauge.cli.main import main
from leakgauge.domains.queries.remote import http_client
from leakgauge.plan import plan_of, to_toml


@dataclass(frozen=True)
class ServiceAudit:
    """What came of an audit: its exit code, what was printed, and verdicts.json where it was written."""

    code: int
    printed: str
    results: dict[str, Any] | None
    service: NoisyCounts

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        return [] if self.results is None else self.results["verdicts"]

    @property
    def findings(self) -> set[str | None]:
        return {verdict["finding"] for verdict in self.verdicts}


def audit_service(
    kind: type[NoisyCounts],
    folder: Path,
    *,
    seed: int = 5,
    rounds: int | None = None,
    confidence: float = 0.999,
    attacks: list[dict[str, Any]] | None = None,
    control: str = "none",
    service: dict[str, Any] | None = None,
    report: bool = False,
) -> ServiceAudit:
    """Serve one kind of service, and audit it in a folder by what its owner states.

    One connection, so that the seed decides everything but the times. The positive control is left out
    unless it is named: it would double the requests.
    """
    rounds = rounds or kind.stated.rounds
    write_people(folder / "people.csv")
    running = kind(folder / "people.csv", seed)
    with served(running) as url:
        plan = {
            "seed": seed,
            "audit": [
                {
                    "name": "counts",
                    "domain": "queries",
                    "rounds": rounds,
                    "block": min(rounds, 50),
                    "data": {"source": "people.csv"},
                    "mechanism": kind.stated.mechanism,
                    "metrics": {"confidence": confidence},
                    "attacks": attacks or list(kind.stated.attacks),
                    "challenger": {
                        **kind.stated.challenger,
                        "targets": {"names": [TARGET]},
                        "own_service": True,
                        "service": {
                            "url": url,
                            "rate": 1e5,
                            "timeout": 60.0,
                            "tries": 50,
                            "total": 10_000_000,
                            "connections": 1,
                            "control": control,
                            **(service or {}),
                        },
                    },
                }
            ],
        }
        (folder / "plan.toml").write_text(to_toml(plan_of(plan, folder=folder)))
        return _run(folder, running, report)


def _run(folder: Path, running: NoisyCounts, report: bool) -> ServiceAudit:
    printed, out = io.StringIO(), folder / "run"
    with redirect_stderr(printed), redirect_stdout(printed):
        arguments = ["run", str(folder / "plan.toml"), "--out", str(out)]
        with (
            patch.object(http_client, "FIRST_PAUSE", 0.001),
            patch.object(api, "write_report", api.write_report if report else lambda *_: None),
        ):
            code = main(arguments)
    file = out / "verdicts.json"
    results = json.loads(file.read_text()) if file.exists() else None
    return ServiceAudit(code, printed.getvalue(), results, running)
