"""Crafted weights in linear layers of the user's own network, which only the target's row moves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.federated.flower_app.challenger import AppView
from leakgauge.domains.federated.flower_app.client_games import (
    Arrays,
    ClientAnswer,
    Protection,
    RowKey,
    field_words,
)
from leakgauge.domains.federated.flower_app.knowledge import AppServerKnowledge
from leakgauge.domains.federated.flower_app.planted_layers import (
    LOSS_PLANT,
    Plant,
    PlantedLayers,
    TargetFeatures,
    flat,
    layer_stealth,
    silent_layers,
)

LARGER_PLANTS = (  # tried where noise hides the plain plant
    Plant(constant=20.0),
    Plant(constant=60.0),
    Plant(constant=100.0, head=100.0),
    Plant(constant=100.0, head=100.0, loud=True),
)
_SEPARATED = 0.9  # share of calibration games that make the change of watched weights good enough
_LEAST_SHARE = 4.0  # a member may move weights this many times less than in any calibration game
_MOST_FEATURE_ROWS = 1_000
_DRAWS, _HELD_BACK_DRAWS = 1_000, 500  # of the target's features, where noise or dropout varies them
_COPIES = 8  # the target is then one row in this many
_HELD_BACK = 4  # one of the attacker's rows in this many
_VARIES = 1e-2  # of the largest feature


@dataclass(frozen=True, eq=False)
class PlantedTarget:
    """What is sent for one target, and how the answer is read.

    Without ``direction`` the score is how far the watched weights moved; with it, the projection of the whole
    update; with ``field``, that field of the reply. It is shifted and scaled so that 0 is the cut-off of the
    calibration games.
    """

    layers: PlantedLayers
    direction: Reals | None
    cut: float
    spread: float
    field: str | None = None
    right: float = 0.0  # share of calibration games

    def value(self, answer: ClientAnswer) -> float:
        """The score before it is shifted."""
        if self.field is not None:
            return float(np.nan_to_num(answer.fields.get(self.field, self.cut), nan=self.cut))
        if self.direction is None:
            return float(np.log(self.layers.fired(answer.update) + 1e-30))
        return float(np.clip(np.nan_to_num(flat(answer.update) @ self.direction), -1e30, 1e30))

    def score(self, answer: ClientAnswer) -> float:
        """How much more likely the target is in, on a scale of this target's own."""
        return (self.value(answer) - self.cut) / self.spread


@dataclass(frozen=True, eq=False)
class UpdateScorer:
    """Sends the crafted layers, and scores the answers."""

    targets: Sequence[PlantedTarget]

    def __call__(self, view: AppView, rng: Generator) -> Reals:
        rounds = view.answers([target.layers.arrays for target in self.targets])
        fields = {target.field or "" for target in self.targets}
        if len(fields) == 1 and min(target.right for target in self.targets) >= _SEPARATED:
            view.fields_read.update(fields)  # a field that decides less often is not read by this
        return np.array(
            [[target.score(answer) for target, answer in zip(self.targets, row)] for row in rounds]
        )


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Plants a neuron behind the user's own layers that is active for the target alone.

    ``games`` are simulated on rows of the attacker's own, to set the cut-off. A ``stealthy`` plant leaves all
    other weights as the app's server sent them.
    """

    accepts: ClassVar[tuple[str, ...]] = ("app_server",)

    games: int = 24
    stealthy: bool = False

    def __post_init__(self) -> None:
        if not self.games >= 8:
            raise BadInput(f"games must be >= 8, got {self.games}; they set the cut-off")

    def study(self, knowledge: AppServerKnowledge, rng: Generator) -> Scorer[AppView]:
        planted = [self._plant(knowledge, target, rng) for target in range(len(knowledge.rows.targets))]
        distances = [layer_stealth(one.layers, knowledge.sent, knowledge.stack, rng) for one in planted]
        numbers = {name: float(np.mean([one[name] for one in distances])) for name in distances[0]}
        numbers["whole_update"] = float(np.mean([one.direction is not None for one in planted]))
        numbers |= channel_numbers(knowledge)
        named = [field_words(name) for name in sorted({one.field for one in planted if one.field})]
        event, clue = (", ".join(named), "field") if named else (None, None)
        return Scorer(UpdateScorer(planted), Reading(threshold=0.0, event=event, clue=clue, studied=numbers))

    def _plant(self, knowledge: AppServerKnowledge, target: int, rng: Generator) -> PlantedTarget:
        features = target_features(knowledge, target, rng)
        layers = self._craft(knowledge, features, Plant())
        simple, right = _calibrated(PlantedTarget(layers, None, 0.0, 1.0), knowledge, target, self.games, rng)
        if right >= _SEPARATED:
            return replace(simple, right=right)
        plants = [plant for plant in (Plant(), *LARGER_PLANTS) if plant.fits(knowledge.stack)]
        plants = plants[:1] if self.stealthy else plants
        crafted = [self._craft(knowledge, features, plant) for plant in plants]
        filters = [self._matched(knowledge, target, layers, rng) for layers in crafted]
        if knowledge.replies.varying and not self.stealthy:
            layers = self._craft(knowledge, features, LOSS_PLANT)
            filters += [PlantedTarget(layers, None, 0.0, 1.0, name) for name in knowledge.replies.varying]
        tried = [_tried(one, knowledge, target, self.games, rng) for one in filters if one is not None]
        plain = _tried(simple, knowledge, target, self.games, rng)[1]
        best, share = max(tried, key=lambda one: one[1], default=(simple, 0.0))
        return replace(best, right=share) if share > plain else replace(simple, right=plain)

    def _craft(self, knowledge: AppServerKnowledge, features: TargetFeatures, plant: Plant) -> PlantedLayers:
        plant = replace(plant, stealthy=self.stealthy)
        return plant.craft(knowledge.sent, knowledge.stack, features, knowledge.n_others)

    def _matched(
        self, knowledge: AppServerKnowledge, target: int, layers: PlantedLayers, rng: Generator
    ) -> PlantedTarget | None:
        """A matched filter of the whole update, except for the last bias, which every row moves.

        The direction is the mean difference that the target makes: clients with it and without, on otherwise
        the same rows, simulated with the app's clipping but without its noise.
        """
        seed, updates = int(rng.integers(2**62)), {}
        for member in (True, False):
            games = knowledge.simulate(
                layers.arrays,
                target,
                [member] * (self.games // 2),
                np.random.default_rng(seed),
                protection=_noiseless(knowledge),
            )
            updates[member] = np.mean(
                [flat(_without_last_bias(one.update, knowledge)) for one, _ in games], 0
            )
        difference = updates[True] - updates[False]
        norm = float(np.linalg.norm(difference))
        if not (np.isfinite(norm) and norm > 0):
            return None
        direction = difference / norm
        middle = float((updates[True] + updates[False]) @ direction / 2)
        return PlantedTarget(layers, direction, middle, norm)


def channel_numbers(knowledge: AppServerKnowledge) -> dict[str, float]:
    """Return what the app's own clipping and noise allow at most, as far as its parameters are known.

    They say nothing where replies hold more than the weights, or more is sent.
    """
    channels = () if knowledge.replies.varying or knowledge.replies.unread else knowledge.channels
    optima = [
        optimum
        for channel in channels
        if channel.clipped == "example" and (optimum := channel.optimum(knowledge.iterations)) is not None
    ]
    found = {"channel_optimum": min(optima)} if optima else {}
    ceilings = [
        ceiling for channel in channels if (ceiling := channel.ceiling(knowledge.iterations)) is not None
    ]
    if ceilings:
        found["channel_ceiling"] = min(ceilings)
    return found


def _without_last_bias(update: Arrays, knowledge: AppServerKnowledge) -> Arrays:
    last = knowledge.stack.biases[-1]
    return {name: array * 0 if name == last else array for name, array in update.items()}


def _tried(
    planted: PlantedTarget, knowledge: AppServerKnowledge, target: int, games: int, rng: Generator
) -> tuple[PlantedTarget, float]:
    """Play on rows of the attacker's own; return the same with a better cut-off, and how often it is right.

    Clients with the target and without have the same other rows and the same seed. Noise that is added to an
    update is then the same in both and cancels, so that few games show what the target adds. The cut-off is
    halfway: without the target an update is what it is without noise, on average.
    """
    inside, outside = _game_values(planted, knowledge, target, games, rng, paired=True)
    spread = float(np.sqrt((np.var(inside, ddof=1) + np.var(outside, ddof=1)) / 2)) or 1e-12
    added, middle = float(np.mean(inside - outside)), float(np.mean(inside) + np.mean(outside)) / 2
    if planted.field is not None:
        spread = float(np.copysign(spread, added))
        return replace(planted, cut=middle, spread=spread), float(ndtr(added / spread / 2))
    cut = planted.cut - planted.spread / 2 + added / 2
    if not knowledge.channels:  # the games of the filter had noise as well, and their middle is as uncertain
        cut = (planted.cut + middle) / 2
    return replace(planted, cut=cut), float(ndtr(added / spread / 2))


def _game_values(
    planted: PlantedTarget,
    knowledge: AppServerKnowledge,
    target: int,
    games: int,
    rng: Generator,
    *,
    paired: bool,
) -> tuple[Reals, Reals]:
    """The scores of simulated clients with the target, and of others without, or the same if ``paired``."""
    seed = int(rng.integers(2**62)) if paired else 0
    inside, outside = (
        knowledge.simulate(
            planted.layers.arrays,
            target,
            [bit] * (games // 2),
            np.random.default_rng(seed) if paired else rng,
        )
        for bit in (True, False)
    )
    return tuple(  # type: ignore[return-value]
        np.array([planted.value(one) for one, _ in answers]) for answers in (inside, outside)
    )


def _noiseless(knowledge: AppServerKnowledge) -> Protection:
    return "off" if knowledge.protection == "off" else "clipping"


def target_features(knowledge: AppServerKnowledge, target: int, rng: Generator) -> TargetFeatures:
    """What enters the crafted layers for the target and for the attacker's own rows, while the client trains.

    The layers are silent meanwhile, so that the layers before them do not change. Where the target's features
    vary, by noise or dropout, more of them are drawn, and some held back for the threshold.
    """
    wanted = min(len(knowledge.rows.reference), _MOST_FEATURE_ROWS)
    runs = max(4, -(-wanted // knowledge.rows.per_client))
    own, others = _watched_features(knowledge, target, runs, rng)
    if not len(own):
        raise BadInput("challenger.app: the client never read the target's row in its games")
    passes = max(1, round(len(own) / runs))
    size = float(np.abs(own).max())
    if not float(np.ptp(own, axis=0).max()) > _VARIES * size:
        return TargetFeatures(own, others, knowledge.labels[target], passes)
    reference = knowledge.rows.reference
    n_held_back = max(1, len(reference) // _HELD_BACK)
    copies = max(1, knowledge.rows.per_client // _COPIES)
    drawn = [
        _watched_features(knowledge, target, -(-draws // (passes * copies)), rng, rows=rows, copies=copies)
        for rows, draws in ((reference[n_held_back:], _DRAWS), (reference[:n_held_back], _HELD_BACK_DRAWS))
    ]
    return TargetFeatures(*drawn[0], knowledge.labels[target], passes, held_back=drawn[1])


def _watched_features(
    knowledge: AppServerKnowledge,
    target: int,
    runs: int,
    rng: Generator,
    *,
    rows: Sequence[RowKey] | None = None,
    copies: int = 1,
) -> tuple[Reals, Reals]:
    """The features of the target and of other rows in some runs of a client with silent layers."""
    silent = silent_layers(knowledge.sent, knowledge.stack)
    own, others = [], []
    for answer, places in knowledge.simulate(
        silent, target, [True] * runs, rng, features=True, rows=rows, copies=copies
    ):
        assert answer.features is not None
        assert answer.positions is not None
        is_target = np.isin(answer.positions, places)
        own.append(answer.features[is_target])
        others.append(answer.features[~is_target])
    return np.concatenate(own).astype(np.float64), np.concatenate(others).astype(np.float64)


def _calibrated(
    planted: PlantedTarget, knowledge: AppServerKnowledge, target: int, games: int, rng: Generator
) -> tuple[PlantedTarget, float]:
    """Set the cut-off by games on rows of the attacker's own; also return the share that it decides right."""
    inside, outside = map(np.sort, _game_values(planted, knowledge, target, games, rng, paired=False))
    cuts = np.unique(np.concatenate([inside, outside]))
    cuts = np.concatenate([[cuts[0] - 1], (cuts[1:] + cuts[:-1]) / 2, [cuts[-1] + 1]])
    right = [(np.mean(inside >= cut) + np.mean(outside < cut)) / 2 for cut in cuts]
    best = np.flatnonzero(np.isclose(right, max(right)))
    cut = float(cuts[best[len(best) // 2]])
    if planted.direction is None and inside[0] > outside[-1]:  # weights move about as far in every game
        cut = max(cut, float(inside[0]) - np.log(_LEAST_SHARE))
    spread = float(np.std(np.concatenate([inside, outside]))) or 1.0
    return replace(planted, cut=cut, spread=spread), float(max(right))
