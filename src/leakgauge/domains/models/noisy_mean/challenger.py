"""The challenger that releases a noisy mean: of one feature of the members, with noise on the sum."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import guarantee as models_guarantee
from leakgauge.domains.models.data.dataset import SPLIT_STREAM, EncodedTable
from leakgauge.domains.models.data.sources import CONSTANTS_SOURCE, constant_components, load_table
from leakgauge.domains.models.games.game_builder import GameSetup, set_up_game
from leakgauge.domains.models.games.membership_game import IndependentGame, MixtureGame, StrongGame
from leakgauge.domains.models.noisy_mean.knowledge import (
    ComponentsMeanKnowledge,
    NoisyMeansView,
    ReferenceMeanKnowledge,
    StrongMeanKnowledge,
)
from leakgauge.domains.models.plan_tables import ModelsChallengerTable, ModelsConstantsDataTable, ModelsGame
from leakgauge.domains.models.training.noise_calibration import TrainingMechanism
from leakgauge.mechanisms import mechanism_class, name_of
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.support.table_reader import read_dataclass, require_known

MIN_NOISE_SCALE = 1e-6
NOISE_SCALES = 20.0  # between the two worlds of a positive control


def read_sum_noise(table: Mapping[str, Any]) -> tuple[AdditiveNoise, str | None]:
    """Read the noise on a sum, which one record changes by at most 1, and the feature if one is named."""
    parameters = dict(table)
    name, feature = parameters.pop("name"), parameters.pop("feature", None)
    for key, way_out in {
        "sensitivity": "one value in [0, 1] changes a sum by at most 1",
        "unit": "the game is about a record",
    }.items():
        if key in parameters:
            raise BadInput(f"mechanism {name!r}: {key} cannot be set: {way_out}; leave it out")
    if feature is not None and not isinstance(feature, str):
        raise BadInput(f"mechanism {name!r}.feature: must be the name of a feature, got {feature!r}")
    parameters.setdefault("relation", Relation.REPLACE_ONE.value)
    noise = read_dataclass(mechanism_class(name), parameters, f"mechanism {name!r}")
    if not noise.noise_scale >= MIN_NOISE_SCALE:
        raise BadInput(
            f"mechanism {name!r}: noise of {noise.noise_scale:.3g} on a sum of values in [0, 1] hides nothing"
            f"; {MIN_NOISE_SCALE:.0e} is the minimum: lower epsilon"
        )
    return noise, feature


def sum_mechanism(table: Mapping[str, Any]) -> TrainingMechanism:
    """The noise on sums of rows as the mechanism of a training (trainer "noisy_mean")."""
    noise, feature = read_sum_noise(table)
    if feature is not None:
        raise BadInput("mechanism.feature: trainer 'noisy_mean' uses all features; leave it out")
    return TrainingMechanism(
        name=table["name"],
        noise=None,
        relation=noise.guarantee.relation,
        optimizer=None,
        sum_noise=noise,
    )


def feature_values(loaded: EncodedTable, feature: str | None, noise: AdditiveNoise) -> tuple[str, Reals]:
    """The feature whose mean is released, and its values; by default the first one that fits.

    Noise on a lattice is for counts, so the feature must be 0 or 1.
    """
    if feature is not None:
        require_known(feature, loaded.names, "mechanism.feature: no feature")
    wanted = loaded.names if feature is None else (feature,)
    counts = noise.lattice
    for name in wanted:
        values = loaded.rows[:, loaded.names.index(name)].astype(np.float64)
        if not counts or np.isin(values, (0.0, 1.0)).all():
            return name, values
    raise BadInput(
        f"mechanism {name_of(noise)!r}: {wanted[0]!r} is not 0 or 1 in all rows; name a feature that is, or "
        "use laplace"
    )


def group_guarantee(noise: AdditiveNoise, n: int) -> Guarantee:
    """The promise to n records that change together: the same noise, on a sum that changes by n.

    Epsilon is n times that of a record; the curve is that of the whole change, which is tighter than n
    epsilon alone.
    """
    record = noise.guarantee
    group = noise.scaled_to(float(n), noise.noise_scale)
    return replace(
        group.guarantee,
        unit=Unit.GROUP,
        relation=Relation.REPLACE_ONE,
        nominal_epsilon=record.epsilon,
        nominal_unit=Unit.RECORD,
    )


@dataclass(frozen=True, eq=False)
class NoisyMeansBlock:
    """A block of noisy means, each of ``n_members`` values."""

    view: NoisyMeansView
    n_members: int

    @property
    def released(self) -> Reals:
        """The published means, one per round."""
        return self.view.sums / self.n_members


@dataclass(frozen=True, eq=False, kw_only=True)
class Challenger(ChallengerDefaults):
    """Owns the values of one feature, and releases the noisy mean of its members' values in each round."""

    values: Reals  # one per row of the table, in [0, 1]
    setup: GameSetup
    noise: AdditiveNoise
    guarantee: Guarantee
    digest: str
    notes: tuple[str, ...] = ()

    @property
    def n_targets(self) -> int:
        return self.setup.game.n_targets

    @property
    def coins(self) -> Coins:
        return self.setup.game.coins

    @property
    def fresh_targets(self) -> bool:
        return self.setup.game.targets is None

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return self.setup.game.flip(n_rounds, rng)

    def release(self, members: Bits, rng: Generator) -> NoisyMeansBlock:
        drawing, noising = rng.spawn(2)
        sums, shown = np.empty(len(members)), np.empty(members.shape)
        for number, row in enumerate(members):
            drawn = self.setup.game.draw_round(row, drawing)
            sums[number], shown[number] = self.values[drawn.trained_on].sum(), self.values[drawn.shown]
        return NoisyMeansBlock(NoisyMeansView(self.noise.sample(sums, noising), shown), self.setup.game.slots)

    def control(self) -> "Challenger":
        """One target with the value 1 among zeros, or components of different values; noise hides nothing."""
        setup, n_kinds = self.setup, 0 if self.setup.components is None else len(self.setup.components.values)
        values, game = np.zeros(self.values.size), setup.game
        if setup.components is not None:
            values = setup.components.codes / max(n_kinds - 1, 1)
            values = np.minimum(setup.components.codes, 1.0) if self.noise.lattice else values
        match game:
            case StrongGame():
                values[game.target] = 1.0
            case IndependentGame():
                target, slots = game.targets[:1], game.slots - game.n_targets + 1
                game = replace(game, targets=target, slots=slots, pool=np.setdiff1d(game.pool, target))
                values[target] = 1.0
            case MixtureGame():
                game = replace(game, n_targets=1)
        about = (setup.description, type(self.noise).__module__, game.slots, self.noise.guarantee.relation)
        digest = sha256(f"control {about}".encode(errors="surrogatepass"))
        for part in (values, setup.reference):
            digest.update(np.ascontiguousarray(part).tobytes())
        return replace(
            self,
            values=values,
            setup=replace(setup, game=game),
            noise=self.noise.scaled_to(1.0, 1 / NOISE_SCALES),
            digest=digest.hexdigest(),
        )

    def knowledge(self, name: str) -> StrongMeanKnowledge | ReferenceMeanKnowledge | ComponentsMeanKnowledge:
        """What an attacker may know about a noisy mean."""
        game, own, components = self.setup.game, self.setup.reference, self.setup.components
        match name:
            case "strong" if isinstance(game, StrongGame):
                return StrongMeanKnowledge(
                    others=float(self.values[game.others].sum()),
                    target=float(self.values[game.target]),
                    substitute=0.0 if game.substitute is None else float(self.values[game.substitute]),
                    noise=self.noise,
                )
            case "black_box" if game.targets is not None and own.size:
                return ReferenceMeanKnowledge(
                    values=self.values[own],
                    targets=self.values[game.targets],
                    n_members=game.slots,
                    empty=self.noise.guarantee.relation is Relation.ADD_REMOVE,
                    noise=self.noise,
                )
            case "components" if components is not None:
                codes = components.codes[own]
                kinds = tuple(self.values[own[codes == code]] for code in np.unique(components.codes))
                if not all(values.size for values in kinds):
                    raise BadInput(
                        "knowledge 'components': the attacker has no rows of a component; raise reference"
                    )
                return ComponentsMeanKnowledge(components=kinds, n_members=game.slots, noise=self.noise)
        raise BadInput(
            f"knowledge {name!r} does not fit a noisy mean in this game: use 'strong' in game 'strong', "
            "'black_box' in 'iid' and 'exchangeable' (with reference > 0), 'components' in 'mixture'"
        )


def build(
    *,
    options: ModelsChallengerTable,
    data: Mapping[str, Any],
    mechanism: Mapping[str, Any],
    folder: Path,
    seed: int,
) -> Challenger:
    """Build the challenger that the tables of a plan describe."""
    if options.game is ModelsGame.GROUP or options.mislabel:
        raise BadInput(
            "challenger: a noisy mean has no labels, and reveals nothing to an attacker who knows the group "
            "of its members; use game = 'mixture', where the group is secret, and leave mislabel out"
        )
    noise, feature = read_sum_noise(mechanism)
    loaded = _load(data, options, folder, seed)
    name, values = feature_values(loaded, feature, noise)
    setup = set_up_game(options, loaded, noise.guarantee.relation, stream(seed, Role.DATA, SPLIT_STREAM))
    if isinstance(setup.game, StrongGame):
        setup = replace(setup, game=with_farthest_pair(setup.game, values))
    guarantee, notes = _stated_guarantee(setup, noise)
    identity = "\n".join((loaded.digest, repr(options), repr(noise), name))
    return Challenger(
        values=values,
        setup=setup,
        noise=noise,
        guarantee=guarantee,
        digest=sha256(identity.encode(errors="surrogatepass")).hexdigest(),
        notes=(*loaded.notes, f"each model is the noisy mean of {name!r}", *notes),
    )


def with_farthest_pair(game: StrongGame, values: Reals) -> StrongGame:
    """The same rows, with target and substitute as far apart as possible: the worst case of the promise."""
    spare = [] if game.substitute is None else [game.substitute]
    rows = np.array([game.target, *spare, *game.others.tolist()])
    order = rows[np.argsort(values[rows], kind="stable")]
    if not spare:
        return replace(game, target=int(order[-1]), others=order[:-1])
    return replace(game, target=int(order[-1]), substitute=int(order[0]), others=order[1:-1])


def _load(data: Mapping[str, Any], options: ModelsChallengerTable, folder: Path, seed: int) -> EncodedTable:
    if data.get("source") != CONSTANTS_SOURCE:
        return load_table(data, folder, seed)
    table = read_dataclass(
        ModelsConstantsDataTable, {key: value for key, value in data.items() if key != "source"}, "data"
    )
    enough = 4 * max(options.members or 0, options.how_many(), 10)
    return constant_components(table, enough if table.rows is None else table.rows)


def _stated_guarantee(setup: GameSetup, noise: AdditiveNoise) -> tuple[Guarantee, tuple[str, ...]]:
    record = noise.guarantee
    if not setup.game.depends:
        return record, tuple(filter(None, [setup.description]))
    group = group_guarantee(noise, setup.game.slots)
    return group, (
        models_guarantee.dependent_records_note(record, group, setup.game.slots, setup.description),
    )
