"""Set up the game that a plan describes: split the rows, choose the targets, build the rules."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Ints
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.data.dataset import CategoricalColumn, EncodedTable
from leakgauge.domains.models.games import membership_game
from leakgauge.domains.models.games.member_split import BiasDependence, SplitSizes, read_dependence
from leakgauge.domains.models.plan_tables import ModelsChallengerTable, ModelsGame


@dataclass(frozen=True, eq=False)
class ReferenceSplit:
    """Reference rows of the attacker, and the pool of rows to train on; no row is in both."""

    reference: Ints
    pool: Ints


def split_off_reference(
    rows: Ints, reference: float, rng: Generator, named: Ints | None = None
) -> ReferenceSplit:
    """Give a share or a number of rows to the attacker, at random; ``named`` rows come first in the pool."""
    if named is not None:
        parts = split_off_reference(np.setdiff1d(rows, named), reference, rng)
        return ReferenceSplit(parts.reference, np.concatenate([named, parts.pool]))
    n = round(reference * rows.size) if isinstance(reference, float) else reference
    if not n < rows.size:
        raise BadInput(
            f"challenger.reference: {n} of {rows.size} rows go to the attacker, and none is left to train "
            "on; lower it"
        )
    shuffled = rng.permutation(rows)
    return ReferenceSplit(np.sort(shuffled[:n]), shuffled[n:])


def draw_reference(rows: Ints, reference: float, rng: Generator) -> Ints:
    """A share or a number of leftover rows: all of them at most."""
    n = round(reference * rows.size) if isinstance(reference, float) else reference
    if n > rows.size:
        raise BadInput(
            f"challenger.reference: {n} rows wanted of the {rows.size} that are neither members nor others; "
            "lower it, or give a share"
        )
    return np.sort(rng.permutation(rows)[:n])


def half_of_pool(pool: Ints) -> int:
    """The number of members where a plan does not give it."""
    if pool.size < 4:
        raise BadInput(
            f"challenger.members: half of the {pool.size} rows that are left to train on is too few for a "
            "model; add rows (of each component), or lower reference"
        )
    return pool.size // 2


def require_enough_rows(wanted: int, rows: Ints, what: str, way_out: str) -> None:
    """Refuse to draw more rows than there are."""
    if wanted > rows.size:
        raise BadInput(f"challenger.members: {wanted} {what}, but there are {rows.size}; {way_out}")


@dataclass(frozen=True, eq=False)
class GameSetup:
    """A game, the attacker's reference rows, and the components of the data where they matter."""

    game: membership_game.MembershipGame
    reference: Ints
    components: CategoricalColumn | None = None
    fixed: int | None = None  # the component of the members, where it is known
    description: str = ""


def set_up_game(
    options: ModelsChallengerTable, loaded: EncodedTable, relation: Relation, rng: Generator
) -> GameSetup:
    """Split the rows, choose the targets and build the rules."""
    match options.game:
        case ModelsGame.MIXTURE:
            return _mixture(options, loaded, rng)
        case ModelsGame.GROUP:
            return _group(options, loaded, rng)
        case ModelsGame.STRONG:
            return _strong(options, loaded, relation, rng)
        case _:
            return _independent(options, loaded, relation, rng)


def _strong(
    options: ModelsChallengerTable, loaded: EncodedTable, relation: Relation, rng: Generator
) -> GameSetup:
    parts = split_off_reference(
        np.arange(len(loaded)), options.reference, rng, _named_targets(options, loaded)
    )
    replaces = relation is Relation.REPLACE_ONE
    n = half_of_pool(parts.pool) if options.members is None else options.members
    require_enough_rows(n + 1, parts.pool, "rows wanted, target and substitute included", "lower members")
    target, substitute = parts.pool[:2].tolist()
    others = parts.pool[2 : n + 1] if replaces else parts.pool[1:n]
    game = membership_game.StrongGame(
        others=others, target=target, substitute=substitute if replaces else None
    )
    return GameSetup(game, parts.reference)


def _independent(
    options: ModelsChallengerTable, loaded: EncodedTable, relation: Relation, rng: Generator
) -> GameSetup:
    parts = split_off_reference(
        np.arange(len(loaded)), options.reference, rng, _named_targets(options, loaded)
    )
    n = half_of_pool(parts.pool) if options.members is None else options.members
    n_targets = options.how_many(n)
    replaced, empty = options.game is ModelsGame.IID, relation is Relation.ADD_REMOVE
    if n_targets > n:
        raise BadInput(f"challenger.targets: {n_targets} exceed the {n} members of a training; lower targets")
    targets, rest = parts.pool[:n_targets], parts.pool[n_targets:]
    if not replaced:
        require_enough_rows(
            n - n_targets if empty else n,
            rest,
            f"rows are drawn for a training besides the {n_targets} targets",
            "lower members, targets or reference, or add rows",
        )
    pool = parts.pool if replaced else rest
    game = membership_game.IndependentGame(
        pool=pool, targets=targets, slots=n, replaced=replaced, empty=empty
    )
    return GameSetup(game, parts.reference)


def _named_targets(options: ModelsChallengerTable, loaded: EncodedTable) -> Ints | None:
    names = None if options.targets is None else options.targets.names
    return None if names is None else loaded.named_rows(names)


def _mixture(options: ModelsChallengerTable, loaded: EncodedTable, rng: Generator) -> GameSetup:
    dependence = read_dependence(options.dependence)
    components = dependence.components(loaded)
    if components is None or isinstance(dependence, BiasDependence):
        raise BadInput(
            "challenger.dependence: a mixture needs components: name = 'clusters', or 'source' with its group"
        )
    kinds = [np.flatnonzero(components.codes == code) for code in range(len(components.values))]
    divided = [split_off_reference(rows, options.reference, rng) for rows in kinds if rows.size]
    if len(divided) < 2:
        raise BadInput("challenger.dependence: a mixture needs two components or more; all rows are of one")
    smallest = min((parts.pool for parts in divided), key=len)
    n = half_of_pool(smallest) if options.members is None else options.members
    n_targets = options.how_many(n)
    require_enough_rows(
        max(n, n_targets),
        smallest,
        "members (or targets) are drawn of one component",
        "lower members, targets or reference, or leave out the smallest component",
    )
    if n_targets > n:
        raise BadInput(f"challenger.targets: {n_targets} exceed the {n} members of a training; lower targets")
    game = membership_game.MixtureGame(
        components=tuple(parts.pool for parts in divided), slots=n, n_targets=n_targets
    )
    reference = np.concatenate([parts.reference for parts in divided])
    description = f"members of one of {len(divided)} components, drawn in each round; others of another one"
    return GameSetup(game, np.sort(reference), components, None, description)


def _group(options: ModelsChallengerTable, loaded: EncodedTable, rng: Generator) -> GameSetup:
    dependence = read_dependence(options.dependence)
    sizes = SplitSizes(members=options.members, others=options.others, validation=options.validation)
    dividing, choosing = rng.spawn(2)
    first = dependence.split(loaded, sizes, dividing)
    reference = draw_reference(np.setdiff1d(first.rest, first.validation), options.reference, choosing)
    free = np.ones(len(loaded), dtype=bool)
    free[reference] = False
    n, m = first.members.size, first.others.size
    shown = (n, m)
    if options.targets is not None:
        wanted = options.targets.how_many
        if not 2 <= wanted <= n + m:
            raise BadInput(
                f"challenger.targets must be in 2..{n + m} (members and others, one of each at least), got "
                f"{wanted}"
            )
        shown = (max(round(wanted * n / (n + m)), 1), max(wanted - round(wanted * n / (n + m)), 1))
    game = membership_game.GroupGame(
        loaded=loaded,
        dependence=dependence,
        sizes=sizes,
        free=free,
        control=options.control,
        slots=n,
        shown=shown,
    )
    components = dependence.components(loaded)
    fixed = dependence.fixed if components is not None else None
    number = components.values.index(fixed) if components is not None and isinstance(fixed, str) else fixed
    description = game.split(choosing).description
    return GameSetup(game, reference, components, number if isinstance(number, int) else None, description)
