"""From a plan's words to the rules of a game and the rows that take part in it."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.games.deal import Game
from leakgauge.domains.models.games.group import Group
from leakgauge.domains.models.games.independent import Independent
from leakgauge.domains.models.games.mixture import Mixture
from leakgauge.domains.models.games.strong import Strong
from leakgauge.domains.models.loaded import Loaded
from leakgauge.domains.models.parts import apart, half_of, require_room, some
from leakgauge.domains.models.splits.dependence import Bias, read_dependence
from leakgauge.domains.models.splits.split import Sizes
from leakgauge.domains.models.table.sheet import Category, Ints
from leakgauge.domains.models.tables import Rules, Setting


@dataclass(frozen=True, eq=False)
class Stage:
    """A game, the adversary's rows, and the kinds of rows there are, where they matter."""

    game: Game
    reference: Ints
    components: Category | None = None
    fixed: int | None = None  # the component of the members, where it is no secret
    words: str = ""


def set_up(setting: Setting, loaded: Loaded, relation: Relation, rng: Generator) -> Stage:
    """Divide the rows, choose targets and state the rules."""
    match setting.game:
        case Rules.MIXTURE:
            return _mixture(setting, loaded, rng)
        case Rules.GROUP:
            return _group(setting, loaded, rng)
        case Rules.STRONG:
            return _strong(setting, loaded, relation, rng)
        case _:
            return _independent(setting, loaded, relation, rng)


def _strong(setting: Setting, loaded: Loaded, relation: Relation, rng: Generator) -> Stage:
    parts = apart(np.arange(len(loaded)), setting.reference, rng)
    replaces = relation is Relation.REPLACE_ONE
    n = half_of(parts.pool) if setting.members is None else setting.members
    require_room(n + 1, parts.pool, "rows wanted, target and substitute included", "lower members")
    target, substitute = parts.pool[:2].tolist()
    others = parts.pool[2 : n + 1] if replaces else parts.pool[1:n]
    game = Strong(others=others, target=target, substitute=substitute if replaces else None)
    return Stage(game, parts.reference)


def _independent(setting: Setting, loaded: Loaded, relation: Relation, rng: Generator) -> Stage:
    parts = apart(np.arange(len(loaded)), setting.reference, rng)
    n = half_of(parts.pool) if setting.members is None else setting.members
    n_targets = setting.how_many(n)
    replaced, empty = setting.game is Rules.IID, relation is Relation.ADD_REMOVE
    if n_targets > n:
        raise BadInput(f"challenger.targets: {n_targets} exceed the {n} members of a training; lower targets")
    whose, rest = parts.pool[:n_targets], parts.pool[n_targets:]
    if not replaced:
        require_room(
            n - n_targets if empty else n,
            rest,
            f"rows are drawn for a training besides the {n_targets} targets",
            "lower members, targets or reference, or bring more rows",
        )
    pool = parts.pool if replaced else rest
    game = Independent(pool=pool, whose=whose, slots=n, replaced=replaced, empty=empty)
    return Stage(game, parts.reference)


def _mixture(setting: Setting, loaded: Loaded, rng: Generator) -> Stage:
    dependence = read_dependence(setting.dependence)
    found = dependence.components(loaded)
    if found is None or isinstance(dependence, Bias):
        raise BadInput(
            "challenger.dependence: a mixture needs components: name = 'clusters', or 'source' with its group"
        )
    kinds = [np.flatnonzero(found.codes == code) for code in range(len(found.values))]
    divided = [apart(rows, setting.reference, rng) for rows in kinds if rows.size]
    if len(divided) < 2:
        raise BadInput("challenger.dependence: a mixture needs two components or more; all rows are of one")
    smallest = min((parts.pool for parts in divided), key=len)
    n = half_of(smallest) if setting.members is None else setting.members
    n_targets = setting.how_many(n)
    require_room(
        max(n, n_targets),
        smallest,
        "members (or targets) are drawn of one component",
        "lower members, targets or reference, or leave out the smallest component",
    )
    if n_targets > n:
        raise BadInput(f"challenger.targets: {n_targets} exceed the {n} members of a training; lower targets")
    game = Mixture(components=tuple(parts.pool for parts in divided), slots=n, n_targets=n_targets)
    reference = np.concatenate([parts.reference for parts in divided])
    words = f"members of one of {len(divided)} components, drawn anew in each round; others of another one"
    return Stage(game, np.sort(reference), found, None, words)


def _group(setting: Setting, loaded: Loaded, rng: Generator) -> Stage:
    dependence = read_dependence(setting.dependence)
    sizes = Sizes(members=setting.members, others=setting.others, validation=setting.validation)
    dividing, choosing = rng.spawn(2)
    first = dependence.split(loaded, sizes, dividing)
    reference = some(np.setdiff1d(first.rest, first.validation), setting.reference, choosing)
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
    game = Group(
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
    return Stage(game, reference, found, number if isinstance(number, int) else None, words)
