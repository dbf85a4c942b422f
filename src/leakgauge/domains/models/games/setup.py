"""Build the game that a plan describes: divide the rows, choose the targets, state the rules."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.data.dataset import CategoricalColumn, EncodedTable, Ints
from leakgauge.domains.models.games.dependence import BiasDependence, read_dependence
from leakgauge.domains.models.games.group import GroupGame
from leakgauge.domains.models.games.independent import IndependentGame
from leakgauge.domains.models.games.member_split import SplitSizes
from leakgauge.domains.models.games.membership_game import MembershipGame
from leakgauge.domains.models.games.mixture import MixtureGame
from leakgauge.domains.models.games.strong import StrongGame
from leakgauge.domains.models.plan_tables import ModelsChallengerTable, ModelsGame


@dataclass(frozen=True, eq=False)
class ReferenceSplit:
    """Rows of the adversary's own, and rows of which models are trained; no row is in both."""

    reference: Ints
    pool: Ints


def split_off_reference(rows: Ints, reference: float, rng: Generator) -> ReferenceSplit:
    """Give a share or a number of rows to the adversary."""
    n = round(reference * rows.size) if isinstance(reference, float) else reference
    if not n < rows.size:
        raise BadInput(
            f"challenger.reference: {n} of {rows.size} rows are the adversary's, and none is left to train "
            "on; lower it"
        )
    shuffled = rng.permutation(rows)
    return ReferenceSplit(np.sort(shuffled[:n]), shuffled[n:])


def draw_reference(rows: Ints, reference: float, rng: Generator) -> Ints:
    """A share or a number of rows that nobody else needs: all of them at most."""
    n = round(reference * rows.size) if isinstance(reference, float) else reference
    if n > rows.size:
        raise BadInput(
            f"challenger.reference: {n} rows wanted of the {rows.size} that are neither members nor others; "
            "lower it, or say a share"
        )
    return np.sort(rng.permutation(rows)[:n])


def half_of_pool(pool: Ints) -> int:
    """How many members there are where a plan does not say."""
    if pool.size < 4:
        raise BadInput(
            f"challenger.members: half of the {pool.size} rows that are left to train on is too few for a "
            "model; bring more rows (of each component), or lower reference"
        )
    return pool.size // 2


def require_enough_rows(wanted: int, rows: Ints, what: str, way_out: str) -> None:
    """Refuse to draw more rows than there are."""
    if wanted > rows.size:
        raise BadInput(f"challenger.members: {wanted} {what}, but there are {rows.size}; {way_out}")


@dataclass(frozen=True, eq=False)
class GameSetup:
    """A game, the adversary's rows, and the kinds of rows there are, where they matter."""

    game: MembershipGame
    reference: Ints
    components: CategoricalColumn | None = None
    fixed: int | None = None  # the component of the members, where it is no secret
    words: str = ""


def set_up_game(
    setting: ModelsChallengerTable, loaded: EncodedTable, relation: Relation, rng: Generator
) -> GameSetup:
    """Divide the rows, choose targets and state the rules."""
    match setting.game:
        case ModelsGame.MIXTURE:
            return _mixture(setting, loaded, rng)
        case ModelsGame.GROUP:
            return _group(setting, loaded, rng)
        case ModelsGame.STRONG:
            return _strong(setting, loaded, relation, rng)
        case _:
            return _independent(setting, loaded, relation, rng)


def _strong(
    setting: ModelsChallengerTable, loaded: EncodedTable, relation: Relation, rng: Generator
) -> GameSetup:
    parts = split_off_reference(np.arange(len(loaded)), setting.reference, rng)
    replaces = relation is Relation.REPLACE_ONE
    n = half_of_pool(parts.pool) if setting.members is None else setting.members
    require_enough_rows(n + 1, parts.pool, "rows wanted, target and substitute included", "lower members")
    target, substitute = parts.pool[:2].tolist()
    others = parts.pool[2 : n + 1] if replaces else parts.pool[1:n]
    game = StrongGame(others=others, target=target, substitute=substitute if replaces else None)
    return GameSetup(game, parts.reference)


def _independent(
    setting: ModelsChallengerTable, loaded: EncodedTable, relation: Relation, rng: Generator
) -> GameSetup:
    parts = split_off_reference(np.arange(len(loaded)), setting.reference, rng)
    n = half_of_pool(parts.pool) if setting.members is None else setting.members
    n_targets = setting.how_many(n)
    replaced, empty = setting.game is ModelsGame.IID, relation is Relation.ADD_REMOVE
    if n_targets > n:
        raise BadInput(f"challenger.targets: {n_targets} exceed the {n} members of a training; lower targets")
    whose, rest = parts.pool[:n_targets], parts.pool[n_targets:]
    if not replaced:
        require_enough_rows(
            n - n_targets if empty else n,
            rest,
            f"rows are drawn for a training besides the {n_targets} targets",
            "lower members, targets or reference, or bring more rows",
        )
    pool = parts.pool if replaced else rest
    game = IndependentGame(pool=pool, whose=whose, slots=n, replaced=replaced, empty=empty)
    return GameSetup(game, parts.reference)


def _mixture(setting: ModelsChallengerTable, loaded: EncodedTable, rng: Generator) -> GameSetup:
    dependence = read_dependence(setting.dependence)
    found = dependence.components(loaded)
    if found is None or isinstance(dependence, BiasDependence):
        raise BadInput(
            "challenger.dependence: a mixture needs components: name = 'clusters', or 'source' with its group"
        )
    kinds = [np.flatnonzero(found.codes == code) for code in range(len(found.values))]
    divided = [split_off_reference(rows, setting.reference, rng) for rows in kinds if rows.size]
    if len(divided) < 2:
        raise BadInput("challenger.dependence: a mixture needs two components or more; all rows are of one")
    smallest = min((parts.pool for parts in divided), key=len)
    n = half_of_pool(smallest) if setting.members is None else setting.members
    n_targets = setting.how_many(n)
    require_enough_rows(
        max(n, n_targets),
        smallest,
        "members (or targets) are drawn of one component",
        "lower members, targets or reference, or leave out the smallest component",
    )
    if n_targets > n:
        raise BadInput(f"challenger.targets: {n_targets} exceed the {n} members of a training; lower targets")
    game = MixtureGame(components=tuple(parts.pool for parts in divided), slots=n, n_targets=n_targets)
    reference = np.concatenate([parts.reference for parts in divided])
    words = f"members of one of {len(divided)} components, drawn anew in each round; others of another one"
    return GameSetup(game, np.sort(reference), found, None, words)


def _group(setting: ModelsChallengerTable, loaded: EncodedTable, rng: Generator) -> GameSetup:
    dependence = read_dependence(setting.dependence)
    sizes = SplitSizes(members=setting.members, others=setting.others, validation=setting.validation)
    dividing, choosing = rng.spawn(2)
    first = dependence.split(loaded, sizes, dividing)
    reference = draw_reference(np.setdiff1d(first.rest, first.validation), setting.reference, choosing)
    free = np.ones(len(loaded), dtype=bool)
    free[reference] = False
    n, m = first.members.size, first.others.size
    shown = (n, m)
    if setting.targets is not None:
        wanted = setting.targets.how_many
        if not 2 <= wanted <= n + m:
            raise BadInput(
                f"challenger.targets must be in 2..{n + m} (members and others, one of each at least), got "
                f"{wanted}"
            )
        shown = (max(round(wanted * n / (n + m)), 1), max(wanted - round(wanted * n / (n + m)), 1))
    game = GroupGame(
        loaded=loaded,
        dependence=dependence,
        sizes=sizes,
        free=free,
        control=setting.control,
        slots=n,
        shown=shown,
    )
    found = dependence.components(loaded)
    fixed = dependence.fixed if found is not None else None
    number = found.values.index(fixed) if found is not None and isinstance(fixed, str) else fixed
    words = game.split(choosing).description
    return GameSetup(game, reference, found, number if isinstance(number, int) else None, words)
