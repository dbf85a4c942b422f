"""Judge the trials of a run folder."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge import catalog, verdict
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import Trials
from leakgauge.plan import Audit, Contender, Plan
from leakgauge.runner import manifest
from leakgauge.runner.audit_metadata import AuditMetadata
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.early_stop import BlockSequence, empty_sequence, require_block, stopping_schedule
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.positive_control import counted_contenders, stored_control
from leakgauge.support import files
from leakgauge.support.files import lock_folder
from leakgauge.verdict import Verdict, VerdictSubject

VERDICTS_FILE = "verdicts.json"


def judge_folder(folder: Path) -> list[Verdict]:
    """Judge the trials in a run folder again, and write ``verdicts.json``."""
    content = manifest.load(folder)
    with lock_folder(folder):
        return judge_run(manifest.from_json(content, folder), content, folder)


def judge_run(run: Manifest, content: dict[str, Any], folder: Path) -> list[Verdict]:
    """Judge a run whose folder is locked."""
    verdicts = [
        judged
        for audit in run.plan.audits
        for judged in _judge_audit(audit, run, _collect_blocks(audit, run, content, folder), folder)
    ]
    files.write_json(folder / VERDICTS_FILE, verdict.verdicts_to_json(verdicts))
    return verdicts


def refuse_unjudgeable(audit: Audit, metadata: AuditMetadata) -> None:
    """Stop before the first round if the trials could not be judged as the plan requires."""
    schedule, metrics = stopping_schedule(audit), audit.metrics
    try:
        metric = verdict.epsilon_metric(metrics, metadata.guarantee, schedule, metrics.confidence)
        if schedule is None:
            return
        if metadata.guarantee is None:
            raise BadInput("there is no promise to decide on")
        rounds, targets = (places.ravel() for places in np.indices((2, metadata.n_targets)))
        metric(Trials(rounds, targets, rounds == 0, np.zeros(rounds.size), metadata.coins))
    except BadInput as error:
        if schedule is not None:
            raise BadInput(f"stop = 'decided' cannot be used here, stop = 'rounds' can: {error}") from None
        raise


def _collect_blocks(audit: Audit, run: Manifest, content: dict[str, Any], folder: Path) -> BlockSequence:
    """Read the blocks of an audit up to its end; stop if one of them is missing."""
    sequence, stores = empty_sequence(audit, run), run.stores(folder, audit)
    for block in split_rounds(audit.rounds, audit.block):
        try:
            if sequence.add(require_block(stores, block)):
                break
        except IncompleteRun as error:
            command = manifest.how_to_continue(content, folder)
            raise IncompleteRun(
                f"{folder}: audit {audit.name!r}: {error}; continue with: {command}"
            ) from None
    return sequence


def _judge_audit(audit: Audit, run: Manifest, sequence: BlockSequence, folder: Path) -> list[Verdict]:
    stopped_early = len(sequence.parts) < len(split_rounds(audit.rounds, audit.block))
    verdicts = []
    for contender in audit.contenders:
        try:
            verdicts.append(
                verdict.judge_trials(
                    sequence.trials(contender.label),
                    guarantee=run.metadata[audit.name].guarantee,
                    subject=replace(
                        verdict_subject(contender, audit, run.plan), utility=run.metadata[audit.name].utility
                    ),
                    metrics=audit.metrics,
                    n_verdicts=run.n_verdicts,
                    stopped_early=stopped_early,
                    schedule=stopping_schedule(audit),
                    control=stored_control(contender, audit, run, folder),
                )
            )
        except BadInput as error:
            raise BadInput(f"audit {audit.name!r}, {contender.label!r}: {error}") from None
    return verdict.mark_untestable(verdicts, [contender.label for contender in counted_contenders(audit)])


def verdict_subject(contender: Contender, audit: Audit, plan: Plan) -> VerdictSubject:
    """Return what a verdict is about."""
    parameters = {
        "data": audit.data,
        "challenger": catalog.redacted_challenger(audit.domain, audit.challenger),
        "mechanism": audit.mechanism,
        "attack": contender.attack_parameters,
    }
    if contender.knowledge_parameters:
        parameters["knowledge"] = catalog.redacted_knowledge(audit.domain, contender.knowledge_parameters)
    return VerdictSubject(
        audit=audit.name,
        domain=audit.domain,
        label=contender.label,
        attack=contender.attack,
        knowledge=contender.knowledge,
        parameters=parameters,
        seed=plan.seed,
    )


def read_verdicts(folder: Path) -> list[Verdict]:
    """Read the verdicts of a run folder that has been judged."""
    manifest.load(folder)
    path = folder / VERDICTS_FILE
    try:
        return verdict.verdicts_from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise BadInput(f"{folder}: not judged yet; run: leakgauge judge {folder}") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{path}: damaged; write it again with: leakgauge judge {folder}") from None
