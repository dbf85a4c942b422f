"""How the error of comparisons with limits is divided over a run, and whether looks decided on its rounds."""

from leakgauge.plan import Audit, Contender, Stop, sweep_size
from leakgauge.risk import RiskContext, count_comparisons
from leakgauge.runner.manifest import Manifest


def changed_rounds(audit: Audit, run: Manifest) -> int | None:
    """The number of rounds of the first result of an audit, if it has another number now; else nothing."""
    looks = run.looks.get(audit.name, ())
    changed = looks and looks[0] != audit.rounds and audit.stop is Stop.ROUNDS  # else it may be looked at
    return looks[0] if changed else None


def risk_context(
    audit: Audit,
    contender: Contender,
    run: Manifest,
    optimum: dict[str, float] | None = None,
    refuted: str | None = None,
) -> RiskContext:
    """How the error of comparisons with limits is divided over the run, and which bounds hold in it."""
    limits, looked, metadata = run.plan.limits, None, run.metadata[audit.name]
    exact = metadata.guarantee is not None and metadata.guarantee.curve is not None
    if audit.stop is Stop.DECIDED:
        looked = "the audit may stop early, and intervals hold for a fixed number of rounds"
    elif first := changed_rounds(audit, run):
        looked = (
            f"the number of rounds was changed after the result of {first:,} rounds was known, so no "
            "interval holds; start over with --fresh and another --seed (in Python: fresh=True, seed=...)"
        )
    counted = sum(
        limits.counts(contender.knowledge, contender.label)
        for audit in run.plan.audits
        for contender in audit.contenders
    )
    return RiskContext(
        confidence=audit.metrics.confidence,
        comparisons=count_comparisons(limits, counted),
        sweep_points=sweep_size(audit, run.plan),
        optimum=optimum,
        refuted=refuted,
        noise_is_stated=metadata.noise_is_stated or exact,
        looked=looked,
        block=audit.block,
        overfitted=contender.knowledge in metadata.overfitted_knowledge,
        understated=metadata.understated_knowledge.get(contender.knowledge),
    )
