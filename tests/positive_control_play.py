"""Play the positive control of a challenger with one attack, as a run does."""

from typing import Any

from leakgauge import catalog
from leakgauge.plan import Contender
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.positive_control import judge_control, play_control


def played(
    domain: str, control: Any, attack: str, knowledge: str | None = None, **parameters: Any
) -> dict[str, Any]:
    """The result that a verdict shows; ``parameters`` are those of the attack."""
    known = knowledge or catalog.accepted_knowledge(domain, attack)[0]
    who = Contender(attack=attack, knowledge=known, label="it", attack_parameters=parameters)

    def prepare(label: str) -> catalog.PreparedAudit:
        return catalog.prepare_contenders(domain, control, [who], 1)

    return judge_control(play_control(control, prepare, ["it"], 1, InProcessEngine())["it"])
