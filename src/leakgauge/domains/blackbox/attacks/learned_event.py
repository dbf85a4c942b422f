"""Learn from simulated rounds which event distinguishes the two worlds, and score by it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.blackbox.event_search.event_description import describe_event, known_cause
from leakgauge.domains.blackbox.event_search.search import LearnedEvent, learn_event
from leakgauge.domains.blackbox.knowledge import LawKnowledge, SimulatorKnowledge
from leakgauge.domains.blackbox.shadows import draw_shadows
from leakgauge.support.work_count import work_of_size

_CONTROL_SHADOWS = 1_000  # where nothing hides the bit
_FEWEST_SHADOWS = 100


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Score outputs of any type by an event learned from simulated rounds of both worlds.

    (After the classifiers of Bichsel et al. 2021 and the events of Ding et al. 2018.) ``shadows`` rounds are
    simulated, half in each world, and as many again where some numbers occur more often than those next to
    them, which may be exact answers. Many scores are learned on one half of them and compared on the other
    half by the one-run bound at ``delta`` (default: that of the promise). The best one and the share of
    rounds on which it guesses are fixed before the first counted round; so is the best among rare strong
    scores, where it promises a larger bound, with the strength from which on it counts.
    """

    accepts: ClassVar[tuple[str, ...]] = ("simulator", "law")

    shadows: int = 20_000
    delta: float | None = None

    def __post_init__(self) -> None:
        if not self.shadows >= _FEWEST_SHADOWS:
            raise BadInput(
                f"learned_event: shadows must be >= {_FEWEST_SHADOWS}, got {self.shadows}; 20000 is usual"
            )
        if self.delta is not None and not 0 <= self.delta < 1:
            raise BadInput(f"learned_event: delta must be in [0, 1), got {self.delta}")

    def for_control(self) -> "Attack":
        return replace(self, shadows=min(self.shadows, _CONTROL_SHADOWS))

    def study(self, knowledge: SimulatorKnowledge | LawKnowledge, rng: Generator) -> Scorer[Sequence[Any]]:
        if not isinstance(knowledge, (SimulatorKnowledge, LawKnowledge)):
            raise BadInput('learned_event: needs knowledge = "simulator", to simulate releases')
        event = work_of_size(lambda n: self._learn(knowledge, n, rng), self.shadows, _FEWEST_SHADOWS)
        return Scorer(
            EventScorer(event),
            Reading(
                threshold=0.0,
                signed=True,
                fraction=event.fraction,
                cut=event.cut,
                event=_describe(event),
                clue=_cause(event),
            ),
        )

    def _learn(
        self, knowledge: SimulatorKnowledge | LawKnowledge, n_shadows: int, rng: Generator
    ) -> LearnedEvent:
        delta = knowledge.delta if self.delta is None else self.delta
        shadows = draw_shadows(knowledge.simulate, n_shadows, rng)
        event = learn_event(shadows.outputs, shadows.members, delta=delta)
        if not event.outstanding:
            return event
        more = draw_shadows(knowledge.simulate, n_shadows, rng)
        members = np.concatenate([shadows.members, more.members])
        return learn_event([*shadows.outputs, *more.outputs], members, delta=delta)


def _describe(event: LearnedEvent) -> str | None:
    if event.candidate is None:
        return None
    usual = describe_event(event.candidate, event.paths)
    if event.rare is None:
        return usual
    rare = describe_event(event.rare.candidate, event.paths)
    return rare if rare == usual else f"{rare} (in rare cases); {usual} (otherwise)"


def _cause(event: LearnedEvent) -> str | None:
    """The known cause of the clue that counts in rare cases, where it does, or else of the usual one."""
    candidates = (event.rare.candidate if event.rare else None, event.candidate)
    causes = (known_cause(candidate, event.paths) for candidate in candidates if candidate is not None)
    return next((cause for cause in causes if cause is not None), None)


@dataclass(frozen=True, eq=False)
class EventScorer:
    """Scores a block by the learned event."""

    event: LearnedEvent

    def __call__(self, view: Sequence[Any], rng: Generator) -> Reals:
        return self.event(view)[:, None]
