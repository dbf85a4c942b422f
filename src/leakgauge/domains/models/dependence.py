"""How members come to resemble one another: they are a cluster, a biased sample, or of one source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.core.settings import read, require
from leakgauge.domains.models.clusters import clusters
from leakgauge.domains.models.loaded import Loaded
from leakgauge.domains.models.split import Part, Sizes, Split, draw

WHERE = "challenger.dependence"


class Dependence(Protocol):
    """A way to choose members and others; ``Split.control`` is then the same without dependence."""

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator) -> Split: ...


@dataclass(frozen=True, kw_only=True)
class Independent:
    """Members and others are drawn from all rows alike; half of them are members unless a plan says."""

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator) -> Split:
        n = len(loaded) // 2 if sizes.members is None else sizes.members
        others = min(n, max(len(loaded) - n, 1)) if sizes.others is None else sizes.others
        part = Part(
            name="all rows",
            rows=np.arange(len(loaded)),
            members=n,
            others=others,
            validation=sizes.validation,
        )
        return draw([part], sizes.most_rest, "members and others drawn from the same rows", rng)


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

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator) -> Split:
        own = clusters(loaded, self.k, self.seed).codes == self.members
        return _apart(own, sizes, f"cluster {self.members} of {self.k}", rng)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Members have one value of a group (a hospital, a school, a region), others any other value."""

    group: str
    members: str

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator) -> Split:
        own = loaded.group(self.group, f"{WHERE}.group").rows_of(self.members, f"{WHERE}.members")
        return _apart(own, sizes, f"{self.group} = {self.members}", rng)


@dataclass(frozen=True, kw_only=True)
class Bias:
    """A share of the members has one value of a group; of the others one half has (Humphries et al. 2023)."""

    group: str
    value: str
    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadInput(f"share must be in [0, 1], got {self.share}")

    def split(self, loaded: Loaded, sizes: Sizes, rng: Generator) -> Split:
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
                rows=np.flatnonzero(have),
                **{key: with_it for key, (_, with_it) in counts.items()},
            ),
            Part(
                name=f"rows without {named}",
                rows=np.flatnonzero(~have),
                **{key: n - with_it for key, (n, with_it) in counts.items()},
            ),
        ]
        return draw(parts, sizes.most_rest, f"{self.share:.0%} of members with {named}, 50% of others", rng)


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


def _apart(own: Bits, sizes: Sizes, named: str, rng: Generator) -> Split:
    """Members of some rows, and others of all other rows."""
    mine, theirs = np.flatnonzero(own), np.flatnonzero(~own)
    members = mine.size if sizes.members is None else sizes.members
    others = theirs.size if sizes.others is None and sizes.members is None else (sizes.others or members)
    parts = [
        Part(name=named, rows=mine, members=members, others=0, validation=sizes.validation),
        Part(name=f"rows outside {named}", rows=theirs, members=0, others=others),
    ]
    return draw(parts, sizes.most_rest, f"members of {named}, others from outside", rng)
