"""How exposed each person is, computed from a plan or a query log without simulating any release."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge import catalog
from leakgauge.core.arrays import Reals
from leakgauge.core.domain import ExposureSpec
from leakgauge.core.errors import ANOTHER_OUT, BadInput
from leakgauge.core.exposure import (
    OWN,
    RECOGNISED_ACCURACY,
    SMALLEST_GROUP,
    AdversaryExposure,
    Exposure,
    PersonalGuarantees,
)
from leakgauge.limits import Limits
from leakgauge.plan import Audit, Plan, plan_without_rounds
from leakgauge.risk import Risk
from leakgauge.runner import manifest
from leakgauge.runner.code_digest import library_versions
from leakgauge.runner.engines import Engine, open_engine
from leakgauge.runner.library_versions import VersionGuard
from leakgauge.runner.rollback import EXPOSURE_FILE
from leakgauge.runner.run import EngineOptions
from leakgauge.runner.worker_tasks import Task
from leakgauge.support import files as support_files
from leakgauge.support.exposure_rows import exposure_csv
from leakgauge.support.parallel import use_parallel_map
from leakgauge.support.progress import Advance, progress_bar
from leakgauge.support.result_views import result_views
from leakgauge.support.threads import single_threaded

PEOPLE_FILE = "exposure.csv"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
IDENTIFIED_AT = np.arange(51, 101) / 100  # accuracies for which people are counted
_HISTOGRAM_EDGES = np.linspace(0.5, 1.0, 26).round(2)  # of a histogram of accuracy


@dataclass(frozen=True, eq=False, repr=False)
class AuditExposure:
    """How exposed everybody in the data of one audit is, or every record by the answers in one query log.

    Attributes:
        audit: The name of the audit, or of the log's file.
        domain: The kind of release.
        exposure: The numbers, one per person or record.
        data: A digest of the data of the audit; empty for a log.
    """

    audit: str
    domain: str
    exposure: Exposure
    data: str = ""

    def __repr__(self) -> str:
        return f"AuditExposure({self.audit!r}, {self.exposure.counts}; to_frame() lists them)"

    def to_frame(self) -> Any:
        """One row for each person or record, the most exposed first: keep it private.

        It is a frame of pandas or polars, or a dict of columns.
        """
        return result_views().exposure_frame(self)

    def plot(self) -> Any:
        """Draw how exposed everybody is to the strongest attacker: a chart of Altair, which names nobody."""
        return result_views().exposure_plot(self)

    def check(self, limits: "Limits | Mapping[str, Any]") -> Risk:
        """Compare the share of people recognised with a limit, such as {"recognised": 0.01}."""
        return result_views().check_exposure(self, limits)

    def save_report(self, path: str | Path) -> Path:
        """Write the page of this exposure as one HTML file, which names nobody."""
        return result_views().save_exposure_report(self, path)

    def _repr_html_(self) -> str:
        return result_views().exposure_html(self)


def expose_plan(plan: Plan, options: EngineOptions | None = None) -> list[AuditExposure]:
    """Compute the exposure of everybody, for every audit of a plan whose domain allows it.

    Without ``options`` the cores of this machine are used by threads; with them people are spread over
    workers. The numbers are the same.
    """
    specs = {domain.name: domain.exposure for domain in catalog.all_domains() if domain.exposure is not None}
    able = [audit for audit in plan.audits if audit.domain in specs]
    if not able:
        domains = ", ".join(sorted({repr(audit.domain) for audit in plan.audits}))
        file = f"{plan.path}: " if plan.path else ""
        raise BadInput(
            f"{file}no audit has people whose exposure can be computed; domains here: {domains}, domains "
            f"that have them: {', '.join(map(repr, specs))}"
        )
    n_steps = sum(1 + len(specs[audit.domain].steps) for audit in able)
    with ExitStack() as stack:
        engine = None
        if options is not None:
            engine = stack.enter_context(open_engine(options.engine, options.workers, options.address))
        advance = stack.enter_context(progress_bar(n_steps, unit="steps"))
        return [_expose_audit(audit, plan, specs[audit.domain], advance, engine) for audit in able]


def expose_challenger(challenger: Any, domain: str, name: str, workers: int) -> AuditExposure:
    """Compute the exposure of the records of a challenger in memory; ``name`` is that of its audit."""
    declared = catalog.get_domain(domain)
    spec = declared.exposure
    assert spec is not None

    def on_workers(engine: Engine, task: Task, items: Sequence[Any]) -> list[Any]:
        results = dict(engine.load_task(task)(items))
        return [results[position] for position in range(len(items))]

    with ExitStack() as stack:
        advance = stack.enter_context(progress_bar(len(spec.steps), unit="steps"))
        stack.enter_context(single_threaded())
        if workers > 1:
            engine = stack.enter_context(open_engine("local", workers))
            stack.enter_context(use_parallel_map(partial(on_workers, engine)))
        exposure = declared.exposure_function(spec, lambda step: advance(f"{name}: {step}", 1))(challenger)
    return AuditExposure(name, domain, exposure, challenger.digest)


def _expose_audit(
    audit: Audit, plan: Plan, spec: ExposureSpec, advance: Advance, engine: Engine | None
) -> AuditExposure:
    """Expose one audit; a step is over when the next one begins."""
    current = f"{audit.name}: data"

    def begin(step: str) -> None:
        nonlocal current
        current = f"{audit.name}: {step}"
        advance(current, 1)

    def on_workers(engine: Engine, task: Task, items: Sequence[Any]) -> list[Any]:
        results: dict[int, Any] = {}
        guarded = VersionGuard(task, library_versions(audit))
        for position, result in engine.load_task(guarded)(items):
            results[position] = result
            advance(f"{current}, part {len(results)} of {len(items)}", 0)
        return [results[position] for position in range(len(items))]

    spread = nullcontext() if engine is None else use_parallel_map(partial(on_workers, engine))
    with catalog.audit_error_context(audit, plan), single_threaded(), spread:
        advance(current, 0)
        challenger = catalog.build_challenger(audit, plan)
        compute = catalog.get_domain(audit.domain).exposure_function(spec, begin)
        exposure = compute(challenger)
        digest = catalog.audit_digest(audit.domain, challenger, audit.contenders, plan.folder)
        advance(audit.name, 1)
    return AuditExposure(audit.name, audit.domain, exposure, digest)


def expose_query_log(
    log: Path,
    *,
    contains: Path | None = None,
    data: Path | None = None,
    id_column: str | None = None,
    delta: float | None = None,
    secret: str | None = None,
) -> AuditExposure:
    """Compute the exposure of every record by the answers in a log; no ``delta`` means the usual one."""
    domain, spec = catalog.domain_with_log_exposure()
    name = log.name.partition(".")[0]
    with progress_bar(len(spec.steps), unit="steps") as advance, single_threaded():
        begun: list[str] = []

        def begin(step: str) -> None:
            advance(f"{name}: {step}", int(bool(begun)))
            begun.append(step)

        compute = domain.exposure_function(spec, begin)
        exposure = compute(log, contains=contains, data=data, id_column=id_column, delta=delta, secret=secret)
        advance(name, 1)
    return AuditExposure(name, domain.name, exposure)


def refuse_run(folder: Path) -> None:
    """Stop if a folder holds a run of a plan: its report must not show another exposure."""
    if (folder / manifest.NAME).exists():
        raise BadInput(f"{folder} holds a run of a plan; {ANOTHER_OUT}")


def refuse_other_run(plan: Plan, folder: Path) -> None:
    """Stop if a folder holds a run of another plan: its report must not show the exposure by this one."""
    if not (folder / manifest.NAME).exists():
        return
    then = manifest.load(folder)["plan"]
    audits = [{key: value for key, value in audit.items() if key != "rounds"} for audit in then["audits"]]
    if {**then, "audits": audits} != plan_without_rounds(plan):
        raise BadInput(f"{folder} holds a run of another plan; {ANOTHER_OUT}")


def refuse_other_data(exposures: Sequence[AuditExposure], folder: Path) -> None:
    """Stop if a folder holds a run of the same plan with other data."""
    if not (folder / manifest.NAME).exists():
        return
    then = manifest.load(folder)["facts"]
    if changed := [exposed.audit for exposed in exposures if then[exposed.audit]["data"] != exposed.data]:
        raise BadInput(
            f"{folder} holds a run with other data for {', '.join(changed)}; run the plan again with these "
            f"data, or {ANOTHER_OUT}"
        )


def save_exposure(
    exposures: Sequence[AuditExposure], folder: Path, plan: Plan | None = None
) -> dict[str, Any]:
    """Write the exposure of individuals, readable by the owner alone, and a summary without; return that.

    The summary says of which plan it is, so that a run of the same plan can use the folder.
    """
    of_plan = {} if plan is None else {"plan": support_files.json_digest(plan_without_rounds(plan))}
    summary = {**summarise(exposures), **of_plan}
    rows = exposure_csv([(exposed.audit, exposed.exposure) for exposed in exposures])
    support_files.write_file(folder / PEOPLE_FILE, rows.encode(), private=True)
    support_files.write_json(
        folder / EXPOSURE_FILE, {**summary, "checksum": support_files.json_digest(summary)}
    )
    return summary


def summarise(exposures: Sequence[AuditExposure]) -> dict[str, Any]:
    """Return what may be published about an exposure: quantiles and histograms, no individual."""
    return {
        "schema": 1,
        "audits": [
            {
                "audit": exposed.audit,
                "domain": exposed.domain,
                "data": exposed.data,
                "people": exposed.exposure.n_people,
                "attackers": [
                    _summary(against, exposed.exposure.metrics) for against in exposed.exposure.against
                ],
                "notes": list(exposed.exposure.notes),
                "setting": exposed.exposure.setting,
                "promised": _promised(exposed.exposure.promised),
                "utility": exposed.exposure.utility,
                **({} if exposed.exposure.unit == "person" else {"unit": exposed.exposure.unit}),
                **_spent(exposed.exposure),
                **_groups(exposed.exposure),
                **_secret_bits(exposed.exposure.secret_bits),
            }
            for exposed in exposures
        ],
    }


def _summary(against: AdversaryExposure, metrics: Sequence[str]) -> dict[str, Any]:
    bars, _ = np.histogram(np.clip(against.accuracy, 0.5, 1.0), _HISTOGRAM_EDGES)
    return {
        "attacker": against.adversary,
        "basis": against.basis,
        "error": against.error,
        **({"own_error": against.own_error} if OWN in metrics else {}),
        "metrics": {
            name: {
                "mean": float(np.mean(against.metric(name))),
                "quantiles": {
                    str(share): float(value)
                    for share, value in zip(QUANTILES, np.quantile(against.metric(name), QUANTILES))
                },
            }
            for name in metrics
        },
        "recognised": _recognised(against),
        "identified": _identified(against),
        "histogram": {"metric": "accuracy", "edges": _HISTOGRAM_EDGES.tolist(), "people": bars.tolist()},
    }


def _recognised(against: AdversaryExposure) -> dict[str, Any]:
    """How many people are recognised; over several random draws, the mean and the range."""
    counts = np.count_nonzero(against.accuracies >= RECOGNISED_ACCURACY, axis=1)
    found = {"accuracy": RECOGNISED_ACCURACY, "people": round(float(counts.mean()))}
    if counts.size == 1:
        return found
    return {**found, "draws": counts.size, "smallest": int(counts.min()), "largest": int(counts.max())}


def _identified(against: AdversaryExposure) -> dict[str, list[float] | list[int]]:
    """How many people are identified with at least each accuracy, given the numerical error.

    Over several random draws these are the smallest and the largest number.
    """
    people = np.sort(against.accuracies, axis=1)
    at_least, at_most = (
        np.array([row.size - np.searchsorted(row + side * against.error, IDENTIFIED_AT) for row in people])
        for side in (-1, 1)
    )
    return {
        "accuracy": IDENTIFIED_AT.tolist(),
        "at_least": at_least.min(axis=0).tolist(),
        "at_most": at_most.max(axis=0).tolist(),
    }


def _promised(promised: PersonalGuarantees | None) -> dict[str, Any] | None:
    """Return quantiles of what is promised to each person; an infinite epsilon becomes null."""
    if promised is None:
        return None
    columns = {name: getattr(promised, name) for name in ("kairouz", "tight", "delta")}
    return {
        "nominal": {
            "epsilon": _finite(promised.nominal),
            "unit": promised.unit,
            "exact": _finite(promised.achieved),
        },
        "part_epsilon": _finite(promised.part),
        "releases": promised.releases,
        "replaces": promised.replaces,
        **{name: _quantiles(values) for name, values in columns.items()},
    }


def _groups(exposure: Exposure) -> dict[str, Any]:
    """Return the exposure of groups; those of fewer than a few are left out, since they may name somebody."""
    large = [group for group in exposure.groups if group.people >= SMALLEST_GROUP]
    if not exposure.groups:
        return {}
    return {"groups": [asdict(group) for group in large], "small_groups": len(exposure.groups) - len(large)}


def _secret_bits(found: dict[str, Any] | None) -> dict[str, Any]:
    return {} if found is None else {"secret_bits": found}


def _spent(exposure: Exposure) -> dict[str, Any]:
    """Return quantiles of what the answers have cost each record; nothing for people of a plan."""
    spent, answers = exposure.spent, exposure.cells
    if spent is None or answers is None:
        return {}
    columns = {
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "epsilon_tight": spent.tight,
        "answers": answers.astype(np.float64),
    }
    quantiles = {name: _quantiles(values) for name, values in columns.items()}
    return {"spent": {**quantiles, "delta_tight": spent.tight_delta}}


def _quantiles(values: Reals) -> dict[str, float | None]:
    """Return quantiles that are values of somebody, so that infinite values do not spread to others."""
    values_at = np.quantile(values, QUANTILES, method="higher")
    return {str(share): _finite(value) for share, value in zip(QUANTILES, values_at.tolist())}


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None
