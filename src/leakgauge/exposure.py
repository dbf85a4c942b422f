"""Who is exposed, without playing: a plan or a query log in, what adversaries reach against each out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import METRICS, Against, Exposure, Promised, Spent
from leakgauge.core.exposure_rows import table
from leakgauge.core.game import Reals
from leakgauge.domains.queries.log.files import Files
from leakgauge.plan import Audit, Plan, canonical
from leakgauge.runner import atomic, manifest
from leakgauge.runner.progress import Advance, progress
from leakgauge.runner.threads import one_thread

PEOPLE, SUMMARY = "exposure.csv", "exposure.json"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
RECOGNISED = 0.9  # right guesses about somebody, from which on they are called recognised
_BARS = np.linspace(0.5, 1.0, 26).round(2)  # of a histogram of accuracy


@dataclass(frozen=True, eq=False)
class Exposed:
    """The exposure of everybody in the data of one audit, or by one log, which is named like its file."""

    audit: str
    domain: str
    exposure: Exposure


def expose_plan(plan: Plan) -> list[Exposed]:
    """Compute the exposure of everybody, for every audit of a plan whose domain allows it."""
    able = [audit for audit in plan.audits if audit.domain in catalog.exposing()]
    if not able:
        found = ", ".join(sorted({repr(audit.domain) for audit in plan.audits}))
        file = f"{plan.path}: " if plan.path else ""
        raise BadInput(
            f"{file}no audit has people whose exposure can be computed; domains here: {found}, domains that "
            f"have them: {', '.join(map(repr, catalog.exposing()))}"
        )
    with progress(sum(1 + catalog.exposure_steps(audit.domain) for audit in able), unit="steps") as advance:
        return [_exposed(audit, plan, advance) for audit in able]


def _exposed(audit: Audit, plan: Plan, advance: Advance) -> Exposed:
    """Expose one audit; a step is over when the next one begins."""
    with catalog.naming(audit, plan), one_thread():
        advance(f"{audit.name}: data", 0)
        challenger = catalog.challenger_of(audit, plan)
        found = catalog.expose(audit.domain, challenger, lambda step: advance(f"{audit.name}: {step}", 1))
        advance(audit.name, 1)
    return Exposed(audit.name, audit.domain, found)


def expose_log(files: Files, delta: float) -> Exposed:
    """Compute the exposure of every record by the answers in a log."""
    from leakgauge.domains.queries.log.exposing import STEPS, expose

    name = files.log.name.partition(".")[0]
    with progress(len(STEPS), unit="steps") as advance, one_thread():
        begun: list[str] = []

        def begin(step: str) -> None:
            advance(f"{name}: {step}", int(bool(begun)))
            begun.append(step)

        found = expose(files, delta=delta, begin=begin)
        advance(name, 1)
    return Exposed(name, "queries", found)


def refuse_run(folder: Path) -> None:
    """Stop if a folder holds a run of a plan: its report must not tell of a log."""
    if (folder / manifest.NAME).exists():
        raise BadInput(f"{folder} holds a run of a plan; choose another --out for the log")


def refuse_other_run(plan: Plan, folder: Path) -> None:
    """Stop if a folder holds a run of another plan: its report must not tell of this one."""
    if not (folder / manifest.NAME).exists():
        return
    then = manifest.load(folder)["plan"]
    audits = [{key: value for key, value in audit.items() if key != "rounds"} for audit in then["audits"]]
    if {**then, "audits": audits} != canonical(plan):
        raise BadInput(f"{folder} holds a run of another plan; choose another --out")


def save(found: Sequence[Exposed], folder: Path) -> dict[str, Any]:
    """Write who is exposed, for the owner of the data alone, and a summary that names nobody; return that."""
    summary = summarise(found)
    rows = table([(one.audit, one.exposure) for one in found])
    atomic.write(folder / PEOPLE, rows.encode(), private=True)
    atomic.write_json(folder / SUMMARY, summary)
    return summary


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Read the summary in a run folder, if there is one."""
    path = folder / SUMMARY
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise BadInput(f"{path}: damaged; remove it, or run leakgauge expose again") from None


def summarise(found: Sequence[Exposed]) -> dict[str, Any]:
    """What may be told of an exposure without telling of anybody: quantiles and histograms."""
    return {
        "schema": 1,
        "audits": [
            {
                "audit": one.audit,
                "domain": one.domain,
                "people": one.exposure.n_people,
                "adversaries": [_summary(against) for against in one.exposure.against],
                "notes": list(one.exposure.notes),
                "promised": _promised(one.exposure.promised),
                **_spent(one.exposure.spent, one.exposure.cells),
            }
            for one in found
        ],
    }


def _summary(against: Against) -> dict[str, Any]:
    bars, _ = np.histogram(np.clip(against.accuracy, 0.5, 1.0), _BARS)
    recognised = int(np.count_nonzero(against.accuracy >= RECOGNISED))
    return {
        "adversary": against.adversary,
        "basis": against.basis,
        "error": against.error,
        "metrics": {
            name: {
                "mean": float(np.mean(against.metric(name))),
                "quantiles": {
                    str(share): float(value)
                    for share, value in zip(QUANTILES, np.quantile(against.metric(name), QUANTILES))
                },
            }
            for name in METRICS
        },
        "recognised": {"accuracy": RECOGNISED, "people": recognised},
        "histogram": {"metric": "accuracy", "edges": _BARS.tolist(), "people": bars.tolist()},
    }


def _promised(promised: Promised | None) -> dict[str, Any] | None:
    """What is promised to people, without telling who; a bound that is infinite becomes null."""
    if promised is None:
        return None
    columns = {name: getattr(promised, name) for name in ("kairouz", "tight", "delta")}
    return {
        "nominal": {"epsilon": _finite(promised.nominal), "unit": promised.unit},
        **{name: _quantiles(values) for name, values in columns.items()},
    }


def _spent(spent: Spent | None, answers: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What answers have cost the records, without telling which; nothing for people of a plan."""
    if spent is None:
        return {}
    columns = {"epsilon": spent.epsilon, "delta": spent.delta, "answers": answers.astype(np.float64)}
    found = {name: _quantiles(values) for name, values in columns.items()}
    return {"unit": "record", "spent": found}


def _quantiles(values: Reals) -> dict[str, float | None]:
    """Quantiles that somebody really has, so that infinite ones stay apart from the others."""
    found = np.quantile(values, QUANTILES, method="higher")
    return {str(share): _finite(value) for share, value in zip(QUANTILES, found.tolist())}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
