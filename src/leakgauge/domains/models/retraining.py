"""Networks that an adversary trains on both sets it holds possible."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from leakgauge.core.game import Bits, Reals
from leakgauge.core.spread import spread
from leakgauge.domains.models.knowledge import Strong
from leakgauge.domains.models.played import Model
from leakgauge.domains.models.shadowing.signals import log_odds
from leakgauge.domains.models.training.learning import Examples, Recipe, together, train


@dataclass(frozen=True, eq=False)
class World:
    """One of the two training sets; the last row is the slot in question, empty where nobody is in it."""

    examples: Examples
    present: Bits | None
    member: bool


@dataclass(frozen=True, eq=False)
class Retrained:
    """How sure networks of both worlds are of the candidates' labels."""

    asked: Examples  # the target, and its substitute if there is one
    log_odds: Reals  # one row per network, one column per candidate
    members: Bits  # which networks were trained with the target

    def asked_of(self, model: Model) -> Reals:
        return log_odds(model, self.asked)


def retrain(knowledge: Strong, models: int, rng: Generator) -> Retrained:
    """Train so many networks on each of the two sets."""
    substitute = knowledge.substitute
    asked = knowledge.target if substitute is None else together(knowledge.target, substitute)
    worlds = [_world(knowledge, member=member) for member in (True, False) for _ in range(models)]
    found = spread(partial(_trained, knowledge.recipe, asked), zip(worlds, rng.spawn(len(worlds))))
    return Retrained(asked, np.array(found), np.array([world.member for world in worlds]))


def _world(knowledge: Strong, *, member: bool) -> World:
    if member or knowledge.substitute is None:
        examples = together(knowledge.others, knowledge.target)
        present = None if member else np.arange(len(examples)) < len(knowledge.others)
        return World(examples, present, member)
    return World(together(knowledge.others, knowledge.substitute), None, member)


def _trained(recipe: Recipe, asked: Examples, work: tuple[World, Generator]) -> Reals:
    world, rng = work
    return log_odds(train(world.examples, recipe, rng, present=world.present), asked)
