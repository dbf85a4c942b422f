"""Check the attacks of a plan as the conformance tests check ours: for authors of an attack of their own."""

from pathlib import Path

import cloudpickle
import numpy as np

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, Attack, NoControl, Trials, play
from leakgauge.core.randomness import Role, stream
from leakgauge.plan import Audit, Contender, Plan, read_plan
from leakgauge.referee.metrics import auc
from leakgauge.runner.engines import open_engine
from leakgauge.runner.play_block import study_attack
from leakgauge.runner.positive_control import control_preparation, play_control

_ROUNDS, _BLOCK = 40, 20
_CONFIDENCE = 0.999


def check_attacks(plan: str | Path | Plan) -> dict[str, tuple[str, ...]]:
    """Return what is wrong with each attack of a plan, by label; an attack without a fault has none.

    An attack has a docstring, can be sent to another process, gives the same scores for the same random
    numbers, and scores members higher where nothing protects them (the positive control of the audit).
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    return {
        contender.label: tuple(_faults(audit, contender, plan))
        for audit in plan.audits
        for contender in audit.contenders
    }


def _faults(audit: Audit, contender: Contender, plan: Plan) -> list[str]:
    prepared = catalog.prepare_audit(audit, plan)
    attack = prepared.attacks[contender.label]
    faults = [] if type(getattr(attack, "attack", attack)).__doc__ else ["it has no docstring"]
    try:
        cloudpickle.loads(cloudpickle.dumps(attack))
    except Exception as error:  # whatever an object of the user raises
        faults.append(f"it cannot be sent to another process: {error}")
    try:
        first, again = (_trials(attack, contender, prepared, plan.seed) for _ in range(2))
        if not np.array_equal(first.scores, again.scores):
            faults.append("its scores differ with the same random numbers; draw all of them from rng")
        return faults + _control_faults(audit, contender, prepared, plan)
    except BadInput as error:
        return [*faults, str(error)]


def _trials(
    attack: Attack[object, object], contender: Contender, prepared: catalog.PreparedAudit, seed: int
) -> Trials:
    label, challenger = contender.label, prepared.challenger
    knowledge = prepared.knowledges[label]
    scorer = study_attack(attack, knowledge, stream(seed, Role.STUDY), label, challenger.n_targets)
    return play(challenger, {label: Adversary(knowledge, scorer)}, seed, range(_ROUNDS), _BLOCK)[label]


def _control_faults(
    audit: Audit, contender: Contender, prepared: catalog.PreparedAudit, plan: Plan
) -> list[str]:
    control = prepared.challenger.control()
    if isinstance(control, NoControl):
        return []
    prepare = control_preparation(audit, control, plan)
    with open_engine("local", 1) as engine:
        played = play_control(control, prepare, [contender.label], plan.seed, engine)[contender.label]
    if isinstance(played, str):
        return [played]
    if np.ptp(played.scores) == 0:
        return ["it gives every trial the same score where nothing protects the members"]
    low = auc.Metric(confidence=_CONFIDENCE)(played).low
    if low is None or low <= 0.5:
        return ["it does not score members higher where nothing protects them; higher must mean a member"]
    return []
