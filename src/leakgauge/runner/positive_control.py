"""The positive control of an audit: attacks play a release without protection before the counted rounds."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from leakgauge.catalog import PreparedAudit, audit_error_context, get_domain, prepare_contenders
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, Challenger, ControlAttack, NoControl, Trials, play
from leakgauge.core.randomness import Role, stream
from leakgauge.plan import Audit, Contender, Plan
from leakgauge.referee.instrument_check import needed_accuracy, no_positive_control, positive_control
from leakgauge.runner.block_store import BlockStore, RoundBlock, split_rounds
from leakgauge.runner.early_stop import BlockSequence
from leakgauge.runner.engines import Engine, map_in_order
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.play_block import PlayBlock, study_attacks
from leakgauge.runner.rollback import CONTROLS_FOLDER
from leakgauge.support import files
from leakgauge.support.work_count import REQUEST, counting_work

ROUNDS = 100  # that count; an attack without a threshold of its own gets as many to choose one
ROUNDS_PER_BLOCK = 100
_REHEARSED = 16  # rounds from which requests are counted
OBSTACLE_FILE = "obstacle.json"

BEFORE_CONTROLS = "the run was made before there were positive controls"
MISSING = "the rounds of the positive control are not in the run folder; run the plan again to simulate them"
ONE_CONTROL = "the attacker never sees a release: it is a control itself"


def control_seed(seed: int) -> int:
    """The seed of the positive control; none of its streams is one of a counted round.

    >>> control_seed(7) == control_seed(7) != control_seed(8)
    True
    """
    return int(stream(seed, Role.CONTROL).integers(2**62))


def counted_contenders(audit: Audit) -> tuple[Contender, ...]:
    """The attackers that see a release; the others are controls and never count."""
    blind = get_domain(audit.domain).controls
    return tuple(contender for contender in audit.contenders if contender.knowledge not in blind)


def play_control(
    control: Challenger[Any],
    prepare: Callable[[str], PreparedAudit],
    labels: list[str],
    seed: int,
    engine: Engine,
    show_message: Callable[[str], None] = lambda _: None,
    block: int = ROUNDS_PER_BLOCK,
) -> dict[str, Trials | str]:
    """Let attacks study and play a control; by label the trials, or why an attack cannot play it.

    ``block`` is the number of rounds that are played together.
    """
    seed = control_seed(seed)
    adversaries, obstacles = study_control(control, prepare, labels, seed, engine, show_message)
    if not adversaries:
        return dict(obstacles)
    blocks = split_rounds(control_rounds(adversaries), block)
    show_message("positive control")
    sequence = BlockSequence(tuple(adversaries), None)
    try:
        for trials in map_in_order(engine, PlayBlock(control, adversaries, seed), blocks):
            sequence.add(trials)
    except BadInput as error:
        raise BadInput(f"positive control: {error}") from error
    return obstacles | {label: _own_rounds(sequence.trials(label)) for label in adversaries}


def study_control(
    control: Challenger[Any],
    prepare: Callable[[str], PreparedAudit],
    labels: list[str],
    seed: int,
    engine: Engine,
    show_message: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Adversary[Any, Any]], dict[str, str]]:
    """Let attacks study a control; by label those that can play it, and why the others cannot."""
    obstacles: dict[str, str] = {}
    adversaries: dict[str, Adversary[Any, Any]] = {}
    for label in labels:
        try:
            studied = study_attacks(
                _with_less_study(prepare(label)),
                seed,
                engine,
                lambda text: show_message(f"positive control, {text}"),
            )
        except BadInput as error:
            obstacles[label] = f"the attack cannot be run on it: {error}"
            continue
        adversaries |= studied.adversaries
    obstacles |= _refuse_beyond_total(control, adversaries, seed)
    return {label: who for label, who in adversaries.items() if label not in obstacles}, obstacles


def control_rounds(adversaries: Mapping[str, Adversary[Any, Any]]) -> int:
    """How many rounds a control takes: twice as many if some attack has no threshold of its own."""
    own_thresholds = all(who.scorer.reading.threshold is not None for who in adversaries.values())
    return ROUNDS if own_thresholds else 2 * ROUNDS


def requests_per_round(challenger: Challenger[Any], adversary: Adversary[Any, Any], seed: int) -> int:
    """How many requests a round takes for one attacker, counted without sending any."""
    with counting_work() as counts:
        play(challenger.rehearsal(), {"": adversary}, seed, range(_REHEARSED), 0)
    return -(-counts[REQUEST] // _REHEARSED)


def _refuse_beyond_total(
    control: Challenger[Any], adversaries: Mapping[str, Adversary[Any, Any]], seed: int
) -> dict[str, str]:
    """Why attacks cannot play the control of a service, by label, where its total does not suffice."""
    limits = control.request_limits
    if limits is None:
        return {}
    obstacles, left, n_rounds = {}, limits.left, control_rounds(adversaries)
    for label, adversary in adversaries.items():
        needed = n_rounds * requests_per_round(control, adversary, seed)
        if needed > left:
            obstacles[label] = (
                f"the service's total leaves {left:,} questions, and its {n_rounds} rounds need {needed:,}; "
                "raise the total"
            )
        else:
            left -= needed
    return obstacles


def _with_less_study(prepared: PreparedAudit) -> PreparedAudit:
    attacks = {
        label: attack.for_control() if isinstance(attack, ControlAttack) else attack
        for label, attack in prepared.attacks.items()
    }
    return replace(prepared, attacks=attacks)


def _own_rounds(trials: Trials) -> Trials:
    """Only the rounds that an attack needs, whatever those need that played with it; no transcript."""
    trials = replace(trials, transcripts=())
    return trials if trials.reading.threshold is None else trials.where(trials.rounds < ROUNDS)


def judge_control(played: Trials | str, accuracy_limit: float | None = None) -> dict[str, Any]:
    """The entry of a verdict for one attack."""
    if isinstance(played, str):
        return no_positive_control(played)
    return positive_control(played, needed_accuracy(accuracy_limit))


def judge_no_control(none: NoControl) -> dict[str, Any]:
    """The entry of a verdict where a challenger has no control."""
    return no_positive_control(none.reason, possible=not none.needed)


@dataclass(frozen=True)
class ControlStore:
    """Where a run folder keeps the control of one attack.

    Attacks are found by what decides their trials, and not by their audit: audits whose controls are the
    same, such as the points of a sweep over the mechanism, share them.
    """

    folder: Path
    identity: str

    @property
    def _blocks(self) -> BlockStore:
        return BlockStore(self.folder, self.identity)

    def save(self, played: Trials | str) -> None:
        """Write the trials, or why there are none."""
        if isinstance(played, str):
            files.write_json(self.folder / OBSTACLE_FILE, {"identity": self.identity, "reason": played})
            return
        for block in _possible_blocks():
            if len(block.rounds) == played.rounds.max() + 1:
                self._blocks.save(block, played)

    def load(self) -> Trials | str | None:
        """Read them; nothing where they are missing, damaged or of another run."""
        for block in _possible_blocks():
            if (trials := self._blocks.load(block)) is not None:
                return trials
        try:
            content = files.parse_json((self.folder / OBSTACLE_FILE).read_bytes())
            return str(content["reason"]) if content["identity"] == self.identity else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def saved_files(self) -> list[Path]:
        """The file that ``load`` reads, if there is one."""
        played = self.load()
        if isinstance(played, str):
            return [self.folder / OBSTACLE_FILE]
        return [] if played is None else [self._blocks.path(_possible_blocks()[0])]


def _possible_blocks() -> list[RoundBlock]:
    return [RoundBlock(0, range(ROUNDS)), RoundBlock(0, range(2 * ROUNDS))]


def control_stores(audit: Audit, run: Manifest, folder: Path) -> dict[str, ControlStore]:
    """Where the control of each counted attack is, by label; empty where the audit has none."""
    control = run.metadata[audit.name].control
    if control is None or control.digest is None:
        return {}
    stores = {}
    for contender in counted_contenders(audit):
        key = control_key(audit, control.digest, contender)
        identity = f"{run.digest}/{CONTROLS_FOLDER}/{key}"
        stores[contender.label] = ControlStore(folder / CONTROLS_FOLDER / key, identity)
    return stores


def control_key(audit: Audit, digest: str, contender: Contender) -> str:
    """Names the control of one attack by all that decides its trials."""
    about = [audit.domain, digest, *vars(replace(contender, label="")).values()]
    return sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class AuditControls:
    """The positive control of an audit, if it has one, and what names it for each attack that plays it."""

    challenger: Challenger[Any] | NoControl
    keys: dict[str, str]

    @classmethod
    def of(cls, audit: Audit, plan: Plan, prepared: PreparedAudit) -> "AuditControls":
        """Set up the control of an audit."""
        with audit_error_context(audit, plan):
            control = prepared.challenger.control()
        if isinstance(control, NoControl):
            return cls(control, {})
        return cls(
            control, {one.label: control_key(audit, control.digest, one) for one in counted_contenders(audit)}
        )

    def after(self, played: Collection[str]) -> "AuditControls":
        """Without the attacks whose control other audits play."""
        return replace(self, keys={label: key for label, key in self.keys.items() if key not in played})


def missing_controls(stores: Mapping[str, ControlStore]) -> list[str]:
    """The labels of the attacks whose control was not played yet."""
    return [label for label, store in stores.items() if store.load() is None]


def play_missing_controls(
    audit: Audit,
    prepared: PreparedAudit,
    run: Manifest,
    folder: Path,
    engine: Engine,
    show_message: Callable[[str], None],
) -> None:
    """Play and save the control of each attack of an audit that has none in the run folder."""
    stores = control_stores(audit, run, folder)
    control = prepared.challenger.control()
    if isinstance(control, NoControl) or not (labels := missing_controls(stores)):
        return
    seed, prepare = run.plan.seed, control_preparation(audit, control, run.plan)
    # a service holds the rounds of one block at a time
    block = ROUNDS_PER_BLOCK if control.request_limits is None else min(ROUNDS_PER_BLOCK, audit.block)
    for label, played in play_control(control, prepare, labels, seed, engine, show_message, block).items():
        stores[label].save(played)


def control_preparation(audit: Audit, control: Challenger[Any], plan: Plan) -> Callable[[str], PreparedAudit]:
    """A function that prepares the control for one attack of an audit, by its label."""
    contenders = {contender.label: contender for contender in audit.contenders}
    seed = control_seed(plan.seed)
    return lambda label: prepare_contenders(audit.domain, control, [contenders[label]], seed, plan.folder)


def stored_control(
    contender: Contender, audit: Audit, run: Manifest, folder: Path, accuracy_limit: float | None = None
) -> dict[str, Any]:
    """The entry of a verdict from what is in a run folder."""
    control = run.metadata[audit.name].control
    if control is None:
        return no_positive_control(BEFORE_CONTROLS)
    if contender not in counted_contenders(audit):
        return no_positive_control(ONE_CONTROL)
    if control.none is not None:
        return judge_no_control(control.none)
    played = control_stores(audit, run, folder)[contender.label].load()
    if played is None:
        return {**no_positive_control(MISSING), "status": "missing"}
    return judge_control(played, accuracy_limit)
