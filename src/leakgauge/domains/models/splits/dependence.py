"""How members come to resemble one another: they are a cluster, a biased sample, or of one source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.core.settings import read, require
from leakgauge.domains.models.loaded import Loaded
from leakgauge.domains.models.splits.clusters import clusters
from leakgauge.domains.models.splits.split import Part, Sizes, Split, draw
from leakgauge.domains.models.table.sheet import Category, Ints

WHERE = "challenger.dependence"


class Dependence(Protocol):
    """A way to choose members and others; ``Split.control`` is then the same without dependence.

    Rows that are not ``free``, where that is said, belong to somebody else: they are not drawn.
    """

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator, free: Bits | None = None) -> Split: ...

    def components(self, loaded: Loaded) -> Category | None:
        """The kinds of rows among which members differ from others; nothing where they do not."""
        ...

    @property
    def fixed(self) -> int | str | None:
        """The component that members are of, or lean to: its number or value."""
        ...


@dataclass(frozen=True, kw_only=True)
class Independent:
    """Members and others are drawn from all rows alike; half of them are members unless a plan says."""

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator, free: Bits | None = None) -> Split:
        rows = np.arange(len(loaded)) if free is None else np.flatnonzero(free)
        n = rows.size // 2 if sizes.members is None else sizes.members
        others = min(n, max(rows.size - n, 1)) if sizes.others is None else sizes.others
        part = Part(
            name="all rows",
            rows=rows,
            members=n,
            others=others,
            validation=sizes.validation,
        )
        return draw([part], sizes.most_rest, "members and others drawn from the same rows", rng)

    def components(self, loaded: Loaded) -> Category | None:
        return None

    @property
    def fixed(self) -> int | str | None:
        return None


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Members are of one cluster of k-means, others of all others; ``members`` is its number."""

    members: int = 0
    k: int = 2
    seed: int = 0  # of k-means

    def __post_init__(self) -> None:
        if not self.k >= 2:
            raise BadInput(f"k must be >= 2, got {self.k}")
        if not 0 <= self.members < self.k:
            raise BadInput(f"members must be a cluster from 0 to {self.k - 1}, got {self.members}")
        if not 0 <= self.seed < 2**32:
            raise BadInput(f"seed must be in 0..{2**32 - 1}, got {self.seed}")

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator, free: Bits | None = None) -> Split:
        own = clusters(loaded, self.k, self.seed).codes == self.members
        return _apart(own, sizes, f"cluster {self.members} of {self.k}", rng, free)

    def components(self, loaded: Loaded) -> Category | None:
        return clusters(loaded, self.k, self.seed)

    @property
    def fixed(self) -> int | str | None:
        return self.members


@dataclass(frozen=True, kw_only=True)
class Source:
    """Members have one value of a group (a hospital, a school, a region), others any other value.

    In a mixture the value is drawn in each round, whatever ``members`` says.
    """

    group: str
    members: str | None = None

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator, free: Bits | None = None) -> Split:
        if self.members is None:
            raise BadInput(f"{WHERE}.members is missing: say which {self.group} members are of")
        own = loaded.group(self.group, f"{WHERE}.group").rows_of(self.members, f"{WHERE}.members")
        return _apart(own, sizes, f"{self.group} = {self.members}", rng, free)

    def components(self, loaded: Loaded) -> Category | None:
        found = loaded.group(self.group, f"{WHERE}.group")
        if self.members is not None:
            found.rows_of(self.members, f"{WHERE}.members")
        return found

    @property
    def fixed(self) -> int | str | None:
        return self.members


@dataclass(frozen=True, kw_only=True)
class Bias:
    """A share of the members has one value of a group; of the others one half has (Humphries et al. 2023)."""

    group: str
    value: str
    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadInput(f"share must be in [0, 1], got {self.share}")

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator, free: Bits | None = None) -> Split:
        have = loaded.group(self.group, f"{WHERE}.group").rows_of(self.value, f"{WHERE}.value")
        if sizes.members is None:
            raise BadInput(f"{WHERE}: say how many members there are, for a share of them has {self.value!r}")
        n_others = sizes.members if sizes.others is None else sizes.others
        counts = {
            "members": (sizes.members, round(self.share * sizes.members)),
            "others": (n_others, n_others // 2),
            "validation": (sizes.validation, round(self.share * sizes.validation)),
        }
        named = f"{self.group} = {self.value}"
        parts = [
            Part(
                name=named,
                rows=_free(have, free),
                **{key: with_it for key, (_, with_it) in counts.items()},
            ),
            Part(
                name=f"rows without {named}",
                rows=_free(~have, free),
                **{key: n - with_it for key, (n, with_it) in counts.items()},
            ),
        ]
        return draw(parts, sizes.most_rest, f"{self.share:.0%} of members with {named}, 50% of others", rng)

    def components(self, loaded: Loaded) -> Category | None:
        have = loaded.group(self.group, f"{WHERE}.group").rows_of(self.value, f"{WHERE}.value")
        return Category(have.astype(np.int64), (f"other {self.group}", self.value))

    @property
    def fixed(self) -> int | str | None:
        return int(self.share >= 0.5)


KINDS: Mapping[str, type[Dependence]] = {
    "none": Independent,
    "clusters": Clusters,
    "source": Source,
    "bias": Bias,
}


def read_dependence(table: Mapping[str, Any]) -> Dependence:
    """Read what a plan says of how members are chosen: a kind by its ``name``, and its keys."""
    said = dict(table)
    name = said.pop("name", "none")
    require(name, list(KINDS), f"{WHERE}: none")
    return read(KINDS[name], said, WHERE)


def _free(rows: Bits, free: Bits | None) -> Ints:
    return np.flatnonzero(rows if free is None else rows & free)


def _apart(own: Bits, sizes: Sizes, named: str, rng: Generator, free: Bits | None) -> Split:
    """Members of some rows, and others of all other rows."""
    mine, theirs = _free(own, free), _free(~own, free)
    members = mine.size if sizes.members is None else sizes.members
    others = theirs.size if sizes.others is None and sizes.members is None else (sizes.others or members)
    parts = [
        Part(name=named, rows=mine, members=members, others=0, validation=sizes.validation),
        Part(name=f"rows outside {named}", rows=theirs, members=0, others=others),
    ]
    return draw(parts, sizes.most_rest, f"members of {named}, others from outside", rng)
