"""Judge the trials of a run folder."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge import catalog, promise_tests, verdict
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import Challenger, Coins, Trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.limits import Limits
from leakgauge.plan import Audit, Contender, Plan, Stop
from leakgauge.referee.conformance import Conformance
from leakgauge.referee.low_fpr import LOW_FPRS
from leakgauge.referee.sample_split import turned_round
from leakgauge.risk import ANY_ATTACKER, RiskStatus, assess_risk
from leakgauge.runner import manifest
from leakgauge.runner.audit_metadata import AuditMetadata
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.code_digest import nested_strings
from leakgauge.runner.early_stop import BlockSequence, empty_sequence, require_block, stopping_schedule
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.positive_control import counted_contenders, stored_control
from leakgauge.runner.risk_context import changed_rounds, risk_context
from leakgauge.runner.rollback import CONFORMANCE_FILE, EXPOSURE_FILE, VERDICTS_FILE
from leakgauge.summary import (
    CONTROL_PASSED,
    RunResult,
    apply_controls,
    doubts,
    is_control,
    recognised_risk,
    refuted_audits,
    result_from_json,
    result_to_json,
    summarise_run,
)
from leakgauge.support import files
from leakgauge.support.files import json_digest, lock_folder, parse_json
from leakgauge.support.table_reader import read_dataclass
from leakgauge.support.user_code import code_refused, no_user_code, split_reference
from leakgauge.theory.metric_bounds import metric_bounds
from leakgauge.verdict import VERDICTS_SCHEMA, Verdict, VerdictSubject


def judge_folder(folder: Path, limits: Limits | None = None) -> RunResult:
    """Judge the trials in a run folder again, and write ``verdicts.json``.

    ``limits`` replace those of the run, for this time only.
    """
    content = manifest.load(folder)
    with lock_folder(folder), no_user_code():
        return judge_run(manifest.from_json(content, folder), content, folder, limits)


def gate_folder(folder: Path, limits: Limits | None = None) -> RunResult:
    """Judge the trials in a run folder as ``judge_folder`` does, and write nothing."""
    content = manifest.load(folder)
    with no_user_code():
        return _judge(manifest.from_json(content, folder), content, folder, limits)


def judge_run(
    run: Manifest, content: dict[str, Any], folder: Path, limits: Limits | None = None
) -> RunResult:
    """Judge a run whose folder is locked; the manifest keeps at which rounds it was looked at."""
    result = _judge(run, content, folder, limits)
    looks = {
        audit.name: list(dict.fromkeys([*run.looks.get(audit.name, ()), audit.rounds]))
        for audit in run.plan.audits
    }
    written = result_to_json(result)
    manifest.update(content, folder, looks=looks, verdicts=_verdicts_digest(written))
    files.write_json(folder / VERDICTS_FILE, written)
    return result


def _verdicts_digest(content: Any) -> str:
    """The digest by which the manifest knows its verdicts.json; dates in it are strings."""
    return json_digest(json.loads(json.dumps(content, default=str)))


def _judge(played: Manifest, content: dict[str, Any], folder: Path, limits: Limits | None) -> RunResult:
    """Judge a run against its own limits, or against others; where it ended follows from its own."""
    run = played if limits is None else replace(played, plan=replace(played.plan, limits=limits))
    verdicts: list[Verdict] = []
    blind_over = set()
    for audit in run.plan.audits:
        sequence = collect_blocks(audit, played, content, folder)
        judged = _judge_audit(audit, run, sequence, folder)
        blind_over |= {found.audit for found in judged if is_control(found) and _is_over(found)}
        verdicts += apply_controls([_without_control_risk(found) for found in judged])
    stated, publish = run.plan.limits, run.plan.publish
    covered = [audit.name for audit in run.plan.audits if publish in (None, audit.name)]
    over = {(found.audit, found.label) for found in verdicts if _is_over(found)}
    summary = summarise_run(
        verdicts,
        limits=stated,
        publish=publish,
        blind_over=blind_over,
        recognised=recognised_risk(read_exposure_summary(folder), covered, stated, refuted_audits(verdicts)),
        changed_rounds=any(changed_rounds(audit, run) for audit in run.plan.audits),
        caveats=[
            *(
                control.caveat
                for name in covered
                if (control := run.metadata[name].control) is not None and control.caveat is not None
            ),
            *(doubt for name in covered for doubt in doubts(run.metadata[name].notes)),
            *(
                f"{contender.label}: {why}"
                for audit in run.plan.audits
                if audit.name in covered
                for contender in counted_contenders(audit)
                if (why := run.metadata[audit.name].understated_knowledge.get(contender.knowledge))
                and (audit.name, contender.label) not in over  # which even such an attacker can be
            ),
        ],
    )
    return RunResult(tuple(verdicts), summary)


def _is_over(found: Verdict) -> bool:
    return found.risk is not None and found.risk.status is RiskStatus.OVER


def _without_control_risk(found: Verdict) -> Verdict:
    """An attacker who never sees the release has no risk of its own."""
    if not is_control(found) or found.risk is None:
        return found
    reason = "a control: this attacker never sees the release"
    risk = replace(found.risk, status=RiskStatus.NO_LIMIT, limit=None, reason=reason, by_limit={})
    return replace(found, risk=risk)


def refuse_unjudgeable(audit: Audit, about: AuditMetadata | Challenger[Any], limits: Limits) -> None:
    """Stop before the first round if the trials could not be judged as the plan requires."""
    schedule, metrics = stopping_schedule(audit), audit.metrics
    try:
        metric = promise_tests.epsilon_metric(metrics, about.guarantee, schedule, metrics.confidence)
        if schedule is None:
            return
        if about.guarantee is None and not limits.metrics:
            raise BadInput("there is neither a promise nor a limit to decide on")
        rounds, targets = (places.ravel() for places in np.indices((2, about.n_targets)))
        metric(Trials(rounds, targets, rounds == 0, np.zeros(rounds.size), about.coins))
    except BadInput as error:
        if schedule is not None:
            raise BadInput(f"stop = 'decided' cannot be used here, stop = 'rounds' can: {error}") from None
        raise


def collect_blocks(audit: Audit, run: Manifest, content: dict[str, Any], folder: Path) -> BlockSequence:
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


def _without_rounds(audit: Audit, run: Manifest, reason: str) -> list[Verdict]:
    """The verdicts of an audit of which no round could have shown anything."""
    metadata = run.metadata[audit.name]
    return [
        verdict.verdict_without_rounds(
            reason,
            guarantee=metadata.guarantee,
            subject=verdict_subject(contender, audit, run.plan),
            metrics=audit.metrics,
            n_targets=metadata.n_targets,
            coins=metadata.coins,
            n_verdicts=run.n_verdicts,
        )
        for contender in audit.contenders
    ]


def _judge_audit(audit: Audit, run: Manifest, sequence: BlockSequence, folder: Path) -> list[Verdict]:
    control = run.metadata[audit.name].control
    if control is not None and control.none is not None and control.none.nothing_to_audit:
        return _without_rounds(audit, run, control.none.reason)
    stopped_early = len(sequence.parts) < len(split_rounds(audit.rounds, audit.block))
    guarantee, accuracy_limit = run.metadata[audit.name].guarantee, run.plan.limits.metrics.get("accuracy")
    controls = {
        contender.label: stored_control(contender, audit, run, folder, accuracy_limit)
        for contender in audit.contenders
    }
    reached = {one.knowledge for one in audit.contenders if controls[one.label]["status"] in CONTROL_PASSED}
    verdicts, unread = [], run.metadata[audit.name].unread
    for contender in audit.contenders:
        with _named(audit, contender):
            trials = _trials_of(contender, audit, run, sequence)
            seen = compare_transcripts(audit, contender.label, trials, run, folder)
            if unread:
                seen = seen or Conformance()
                seen = replace(seen, unread=(*seen.unread, *unread))
            verdicts.append(
                verdict.judge_trials(
                    trials,
                    guarantee=guarantee,
                    subject=replace(
                        verdict_subject(contender, audit, run.plan), utility=run.metadata[audit.name].utility
                    ),
                    metrics=audit.metrics,
                    n_verdicts=run.n_verdicts,
                    stopped_early=stopped_early,
                    schedule=stopping_schedule(audit),
                    control=controls[contender.label],
                    conformance=seen,
                )
            )
    verdicts = _add_risks(verdicts, audit, run, sequence, reached)
    return verdict.mark_untestable(verdicts, [contender.label for contender in counted_contenders(audit)])


def _trials_of(contender: Contender, audit: Audit, run: Manifest, sequence: BlockSequence) -> Trials:
    """The trials of an attacker; a service, whose ways are not known, may turn its scores round."""
    trials = sequence.trials(contender.label)
    as_stated = not run.metadata[audit.name].noise_is_stated or audit.stop is not Stop.ROUNDS
    return trials if as_stated else turned_round(trials)


def _add_risks(
    verdicts: list[Verdict], audit: Audit, run: Manifest, sequence: BlockSequence, reached: set[str]
) -> list[Verdict]:
    """Compare the attackers of one audit with the limits.

    The exact optimum counts for knowledge with which some attacker passed its positive control (``reached``),
    and for nobody where any attacker of the audit refutes the noise distribution on which it rests: by the
    promise, by transcripts, or by more success than this distribution allows.
    """
    metadata = run.metadata[audit.name]
    n_channels = sum(map(len, map(verdict.measured_channels, verdicts))) * len(run.plan.audits)

    def add(found: Verdict, contender: Contender, refuted: str | None) -> Verdict:
        trusted = not metadata.noise_is_stated and contender.knowledge in reached
        context = risk_context(
            audit,
            contender,
            run,
            optimum=_optimum(found, metadata.guarantee) if trusted else None,
            refuted=refuted,
        )
        context = replace(context, comparisons=context.comparisons + n_channels)
        with _named(audit, contender):
            risk = assess_risk(
                _trials_of(contender, audit, run, sequence),
                found.metrics,
                limits=run.plan.limits,
                attacker=found.label,
                counted=is_control(found) or run.plan.limits.counts(found.knowledge, found.label),
                n_rounds=found.rounds,
                context=context,
            )
        counted = audit.stop is Stop.ROUNDS and run.plan.limits.counts(found.knowledge, found.label)
        error = (1 - context.confidence) / context.comparisons if counted else 0.0
        return replace(found, risk=verdict.risk_without_game(found, risk, error))

    def all_risks(refuted: str | None) -> list[Verdict]:
        return [add(*one, refuted) for one in zip(verdicts, audit.contenders, strict=True)]

    judged = all_risks(verdict.why_not_as_stated(verdicts))
    over = [found.label for found in judged if _is_over(found)]
    if over and any(found.risk is not None and found.risk.scope == ANY_ATTACKER for found in judged):
        return all_risks(f"{over[0]} does better than that distribution allows anybody")
    return judged


@contextmanager
def _named(audit: Audit, contender: Contender) -> Iterator[None]:
    """Say in an error whose trials it is about."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"audit {audit.name!r}, {contender.label!r}: {error}") from None


def compare_transcripts(
    audit: Audit, label: str, trials: Trials, run: Manifest, folder: Path
) -> Conformance | None:
    """Compare the transcripts of an attacker with the plan; of a bundle, return what the owner's showed.

    Where the plan names code, only the run itself loads it, and keeps what was found.
    """
    seen = read_conformance(folder)
    found = seen.get(audit.name, {}).get(label)
    named = any(map(split_reference, nested_strings([audit.challenger, audit.mechanism])))
    if not trials.transcripts or (named and code_refused.get() and found is not None):
        return found
    if named and code_refused.get():
        raise BadInput("the plan names code, which only leakgauge run loads; run the plan again")
    found = catalog.compare_transcripts(audit, trials.transcripts, run.plan.folder)
    if named and found is not None:
        seen.setdefault(audit.name, {})[label] = found
        kept = {name: {who: asdict(one) for who, one in by.items()} for name, by in seen.items()}
        files.write_json(folder / CONFORMANCE_FILE, kept, private=True)
    return found


def read_conformance(folder: Path) -> dict[str, dict[str, Conformance]]:
    """Read what transcripts showed that were left out of a bundle, by audit and label."""
    path = folder / CONFORMANCE_FILE
    if not path.exists():
        return {}
    try:
        content = parse_json(path.read_bytes())
        return {
            audit: {
                label: read_dataclass(Conformance, seen, f"{path.name}: {audit}, {label}")
                for label, seen in labels.items()
            }
            for audit, labels in content.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{path.name}: damaged; ask for the bundle again") from None


def _optimum(found: Verdict, guarantee: Guarantee | None) -> dict[str, float] | None:
    """What the best attacker reaches by the exact noise distribution; nothing where that is not known.

    Whether it may be relied on is for the caller to say: a distribution that is only stated may be that of
    somebody else. What is claimed of code of the owner's is no distribution.
    """
    if guarantee is None or guarantee.curve is None or guarantee.claimed or found.coins != Coins.FAIR:
        return None
    return metric_bounds(guarantee, LOW_FPRS)


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
        assumed=(*plan.assumed, *plan.limits.assumed),
    )


def read_verdicts(folder: Path) -> RunResult:
    """Read an earlier result of a run that is incomplete now, as it is: a complete run is judged again."""
    digest = manifest.load(folder).get("verdicts")  # nothing in runs that were extended
    path = folder / VERDICTS_FILE
    judge = shlex.join(["leakgauge", "judge", str(folder)])
    damaged = BadInput(f"{path}: damaged; write it again with: {judge}")
    try:
        content = parse_json(path.read_bytes())
        if digest not in (None, _verdicts_digest(content)):
            raise damaged
        if content["schema"] != VERDICTS_SCHEMA:
            raise BadInput(f"{path}: written by another version of leakgauge; use that one")
        return result_from_json(content)
    except FileNotFoundError:
        raise BadInput(f"{folder}: not judged yet; run: {judge}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged from None


def read_exposure_summary(folder: Path) -> dict[str, Any] | None:
    """Read how many people ``expose`` found at risk, if it was run in this folder."""
    path = folder / EXPOSURE_FILE
    try:
        content = parse_json(path.read_bytes())
        if content.pop("checksum") != json_digest(content):
            raise ValueError
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(
            f"{path}: damaged, or written by an earlier version of leakgauge; remove it, or write it again "
            "with leakgauge expose"
        ) from None
    return content
