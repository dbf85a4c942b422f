"""A run folder's trials -> verdicts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge import catalog, verdict, verdict_file
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import Trials
from leakgauge.plan import Audit, Contender, Plan
from leakgauge.runner import atomic, manifest
from leakgauge.runner.facts import Facts
from leakgauge.runner.lock import locked
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.prefix import Prefix, must_load, prefix_of, schedule_of
from leakgauge.runner.store import blocks
from leakgauge.verdict import Subject, Verdict

NAME = "verdicts.json"


def judge_folder(folder: Path) -> list[Verdict]:
    """Judge the trials in a run folder anew, and write ``verdicts.json``."""
    content = manifest.load(folder)
    with locked(folder):
        return judge(manifest.from_json(content, folder), content, folder)


def judge(run: Manifest, content: dict[str, Any], folder: Path) -> list[Verdict]:
    """Judge a run whose folder is held."""
    verdicts = [
        found
        for audit in run.plan.audits
        for found in _judge_audit(audit, run, _collect(audit, run, content, folder))
    ]
    atomic.write_json(folder / NAME, verdict_file.to_json(verdicts))
    return verdicts


def refuse_unjudgeable(audit: Audit, known: Facts) -> None:
    """Stop before the first round if the trials to come could not be judged as the plan asks."""
    schedule, metrics = schedule_of(audit), audit.metrics
    try:
        metric = verdict.epsilon_metric(metrics, known.guarantee, schedule, metrics.confidence)
        if schedule is None:
            return
        if known.guarantee is None:
            raise BadInput("nothing was promised that could be decided on")
        rounds, targets = (places.ravel() for places in np.indices((2, known.n_targets)))
        metric(Trials(rounds, targets, rounds == 0, np.zeros(rounds.size), known.coins))
    except BadInput as error:
        if schedule is not None:
            raise BadInput(f"stop = 'decided' cannot be used here, stop = 'rounds' can: {error}") from None
        raise


def _collect(audit: Audit, run: Manifest, content: dict[str, Any], folder: Path) -> Prefix:
    """Take an audit's blocks as far as it goes; stop if one of them is missing."""
    prefix, stores = prefix_of(audit, run), run.stores(folder, audit)
    for block in blocks(audit.rounds, audit.block):
        try:
            if prefix.add(must_load(stores, block)):
                break
        except IncompleteRun as error:
            way_on = manifest.how_to_continue(content, folder)
            raise IncompleteRun(f"{folder}: audit {audit.name!r}: {error}; continue with: {way_on}") from None
    return prefix


def _judge_audit(audit: Audit, run: Manifest, prefix: Prefix) -> list[Verdict]:
    stopped_early = len(prefix.parts) < len(blocks(audit.rounds, audit.block))
    verdicts = []
    for contender in audit.contenders:
        try:
            verdicts.append(
                verdict.reach(
                    prefix.trials(contender.label),
                    guarantee=run.facts[audit.name].guarantee,
                    subject=replace(
                        subject(contender, audit, run.plan), utility=run.facts[audit.name].utility
                    ),
                    metrics=audit.metrics,
                    n_verdicts=run.n_verdicts,
                    stopped_early=stopped_early,
                    schedule=schedule_of(audit),
                )
            )
        except BadInput as error:
            raise BadInput(f"audit {audit.name!r}, {contender.label!r}: {error}") from None
    return verdicts


def subject(contender: Contender, audit: Audit, plan: Plan) -> Subject:
    """Return what a verdict is about."""
    parameters = {
        "data": audit.data,
        "challenger": catalog.shown(audit.domain, audit.challenger),
        "mechanism": audit.mechanism,
        "attack": contender.attack_parameters,
    }
    if contender.knowledge_parameters:
        parameters["knowledge"] = catalog.shown_knowledge(audit.domain, contender.knowledge_parameters)
    return Subject(
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
    path = folder / NAME
    try:
        return verdict_file.from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise BadInput(f"{folder}: not judged yet; run: leakgauge judge {folder}") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{path}: damaged; write it again with: leakgauge judge {folder}") from None
