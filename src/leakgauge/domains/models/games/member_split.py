"""Split rows into members, others and the rest, also where members depend on one another.

Dependent members come from a k-means cluster, a biased sample, or one source.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import CategoricalColumn, EncodedTable
from leakgauge.support.cache import RecentCache
from leakgauge.support.table_reader import read_dataclass, require_known

WHERE = "challenger.dependence"  # in error messages
KMEANS_STARTS = 10


@dataclass(frozen=True, kw_only=True)
class SplitSizes:
    """The number of members and of others; None: all there are, or as many others as members.

    ``most_rest`` is the largest number of leftover rows of each group; ``validation`` is the number of rows
    that are distributed like the members, but are none of them, to measure accuracy.
    """

    members: int | None = None
    others: int | None = None
    most_rest: int | None = None
    validation: int = 0

    def __post_init__(self) -> None:
        for name, minimum in (("members", 1), ("others", 1), ("most_rest", 0), ("validation", 0)):
            value = getattr(self, name)
            if value is not None and not value >= minimum:
                raise BadInput(f"{name} must be >= {minimum}, got {value}")


@dataclass(frozen=True, eq=False, kw_only=True)
class MemberSplit:
    """Members, others, and the rest, which serves as reference: no row is in two of them.

    ``validation`` rows are distributed like the members, but are none of them. They may be among the others
    or the rest, because only accuracy is measured on them.
    """

    members: Ints
    others: Ints
    rest: Ints
    validation: Ints
    description: str

    def control(self, rng: Generator) -> "MemberSplit":
        """The independent counterpart: members and others pooled, shuffled, and split in the same sizes.

        It is the control of Humphries et al. (2023). Its others are distributed like its members, so it needs
        no further rows for validation.
        """
        pooled = rng.permutation(np.concatenate([self.members, self.others]))
        n = self.members.size
        return MemberSplit(
            members=pooled[:n],
            others=pooled[n:],
            rest=self.rest,
            validation=np.empty(0, dtype=np.int64),
            description=f"members and others drawn from the same rows ({self.description}, reshuffled)",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitStratum:
    """Rows of one stratum, and how many of them become members, others and validation rows."""

    name: str
    rows: Ints
    members: int
    others: int
    validation: int = 0


def draw_split(
    parts: Sequence[SplitStratum], most_rest: int | None, description: str, rng: Generator
) -> MemberSplit:
    """Draw members, others and validation rows from each stratum; strata that are too small are refused."""
    for name in ("members", "others"):
        if not sum(getattr(part, name) for part in parts) >= 1:
            raise BadInput(
                f"challenger.dependence: {description}: no row is left for {name}; an audit needs both "
                "members and others"
            )
    members, others, rest, validation = [], [], [], []
    for part in parts:
        _require_enough_rows(part)
        shuffled, first = rng.permutation(part.rows), part.members
        last = first + part.others
        members.append(shuffled[:first])
        others.append(shuffled[first:last])
        rest.append(shuffled[last:] if most_rest is None else shuffled[last : last + most_rest])
        validation.append(shuffled[first : first + part.validation])
    return MemberSplit(
        members=rng.permutation(np.concatenate(members)),
        others=rng.permutation(np.concatenate(others)),
        rest=rng.permutation(np.concatenate(rest)),
        validation=rng.permutation(np.concatenate(validation)),
        description=description,
    )


def _require_enough_rows(part: SplitStratum) -> None:
    if part.members + part.others > part.rows.size:
        raise BadInput(
            f"challenger.dependence: {part.members} members and {part.others} others wanted of "
            f"{part.name}, which has {part.rows.size} rows; lower members or others, or add rows"
        )
    if part.members + part.validation > part.rows.size:
        raise BadInput(
            f"challenger.dependence: {part.validation} validation rows wanted of {part.name}, which has "
            f"{part.rows.size - part.members} besides its {part.members} members; lower validation"
        )


_cluster_cache: RecentCache[CategoricalColumn] = RecentCache()


def kmeans_clusters(loaded: EncodedTable, k: int, seed: int) -> CategoricalColumn:
    """Divide each class into k clusters; cluster i of all classes together is group i.

    Clusters are numbered as k-means returns them for its seed (Humphries et al. 2023), so the features that
    separate the classes differ between groups. The most recent results are cached.
    """
    return _cluster_cache.once((loaded.digest, k, seed), lambda: _kmeans_in_each_class(loaded, k, seed))


def _kmeans_in_each_class(loaded: EncodedTable, k: int, seed: int) -> CategoricalColumn:
    codes = np.empty(len(loaded), dtype=np.int64)
    for label, name in enumerate(loaded.classes):
        own = np.flatnonzero(loaded.labels == label)
        clusters = _kmeans(loaded.rows[own].astype(np.float64), k, seed) if own.size >= k else codes[:0]
        if np.unique(clusters).size < k:
            raise BadInput(
                f"challenger.dependence: class {name!r} has too few different rows for {k} clusters; lower "
                "k, or leave out the class"
            )
        codes[own] = clusters
    return CategoricalColumn(codes, tuple(map(str, range(k))))


def _kmeans(rows: Reals, k: int, seed: int) -> Ints:
    """The cluster of each row; fewer than k clusters where there are fewer different rows."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(k, n_init=KMEANS_STARTS, random_state=seed).fit(rows).labels_.astype(np.int64)


class Dependence(Protocol):
    """A way to choose members and others; ``MemberSplit.control`` is its counterpart without dependence.

    Rows that are not ``free`` are not drawn; None: all rows are free.
    """

    def split(
        self, loaded: EncodedTable, sizes: SplitSizes, rng: Generator, free: Bits | None = None
    ) -> MemberSplit: ...

    def components(self, loaded: EncodedTable) -> CategoricalColumn | None:
        """The components in which members differ from others; None where there is no dependence."""
        ...

    @property
    def fixed(self) -> int | str | None:
        """The component of all or most members, by number or value."""
        ...


@dataclass(frozen=True, kw_only=True)
class NoDependence:
    """Members and others are drawn from all rows; by default half of the rows are members."""

    def split(
        self, loaded: EncodedTable, sizes: SplitSizes, rng: Generator, free: Bits | None = None
    ) -> MemberSplit:
        rows = np.arange(len(loaded)) if free is None else np.flatnonzero(free)
        n = rows.size // 2 if sizes.members is None else sizes.members
        others = min(n, max(rows.size - n, 1)) if sizes.others is None else sizes.others
        part = SplitStratum(
            name="all rows",
            rows=rows,
            members=n,
            others=others,
            validation=sizes.validation,
        )
        return draw_split([part], sizes.most_rest, "members and others drawn from the same rows", rng)

    def components(self, loaded: EncodedTable) -> CategoricalColumn | None:
        return None

    @property
    def fixed(self) -> int | str | None:
        return None


@dataclass(frozen=True, kw_only=True)
class ClusterDependence:
    """Members are from one k-means cluster, with number ``members``; others are from the other clusters."""

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

    def split(
        self, loaded: EncodedTable, sizes: SplitSizes, rng: Generator, free: Bits | None = None
    ) -> MemberSplit:
        own = kmeans_clusters(loaded, self.k, self.seed).codes == self.members
        return _split_by_group(own, sizes, f"cluster {self.members} of {self.k}", rng, free)

    def components(self, loaded: EncodedTable) -> CategoricalColumn | None:
        return kmeans_clusters(loaded, self.k, self.seed)

    @property
    def fixed(self) -> int | str | None:
        return self.members


@dataclass(frozen=True, kw_only=True)
class SourceDependence:
    """Members have one value of a group (a hospital, a school, a region), others any other value.

    In a mixture the value is drawn in each round, whatever ``members`` says.
    """

    group: str
    members: str | None = None

    def split(
        self, loaded: EncodedTable, sizes: SplitSizes, rng: Generator, free: Bits | None = None
    ) -> MemberSplit:
        if self.members is None:
            raise BadInput(f"{WHERE}.members is missing: name the {self.group} that members are from")
        own = loaded.group(self.group, f"{WHERE}.group").rows_of(self.members, f"{WHERE}.members")
        return _split_by_group(own, sizes, f"{self.group} = {self.members}", rng, free)

    def components(self, loaded: EncodedTable) -> CategoricalColumn | None:
        groups = loaded.group(self.group, f"{WHERE}.group")
        if self.members is not None:
            groups.rows_of(self.members, f"{WHERE}.members")
        return groups

    @property
    def fixed(self) -> int | str | None:
        return self.members


@dataclass(frozen=True, kw_only=True)
class BiasDependence:
    """A share of the members has one value of a group; of the others one half has (Humphries et al. 2023)."""

    group: str
    value: str
    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadInput(f"share must be in [0, 1], got {self.share}")

    def split(
        self, loaded: EncodedTable, sizes: SplitSizes, rng: Generator, free: Bits | None = None
    ) -> MemberSplit:
        have = loaded.group(self.group, f"{WHERE}.group").rows_of(self.value, f"{WHERE}.value")
        if sizes.members is None:
            raise BadInput(f"{WHERE}: give the number of members, of which a share has {self.value!r}")
        n_others = sizes.members if sizes.others is None else sizes.others
        counts = {
            "members": (sizes.members, round(self.share * sizes.members)),
            "others": (n_others, n_others // 2),
            "validation": (sizes.validation, round(self.share * sizes.validation)),
        }
        named = f"{self.group} = {self.value}"
        parts = [
            SplitStratum(
                name=named,
                rows=_free_rows(have, free),
                **{key: with_it for key, (_, with_it) in counts.items()},
            ),
            SplitStratum(
                name=f"rows without {named}",
                rows=_free_rows(~have, free),
                **{key: n - with_it for key, (n, with_it) in counts.items()},
            ),
        ]
        return draw_split(
            parts, sizes.most_rest, f"{self.share:.0%} of members with {named}, 50% of others", rng
        )

    def components(self, loaded: EncodedTable) -> CategoricalColumn | None:
        have = loaded.group(self.group, f"{WHERE}.group").rows_of(self.value, f"{WHERE}.value")
        return CategoricalColumn(have.astype(np.int64), (f"other {self.group}", self.value))

    @property
    def fixed(self) -> int | str | None:
        return int(self.share >= 0.5)


DEPENDENCES: Mapping[str, type[Dependence]] = {
    "none": NoDependence,
    "clusters": ClusterDependence,
    "source": SourceDependence,
    "bias": BiasDependence,
}


def read_dependence(table: Mapping[str, Any]) -> Dependence:
    """Read the `dependence` table of a plan: a kind by its ``name``, and its keys."""
    parameters = dict(table)
    name = parameters.pop("name", "none")
    require_known(name, list(DEPENDENCES), f"{WHERE}: none")
    return read_dataclass(DEPENDENCES[name], parameters, WHERE)


def _free_rows(rows: Bits, free: Bits | None) -> Ints:
    return np.flatnonzero(rows if free is None else rows & free)


def _split_by_group(
    own: Bits, sizes: SplitSizes, named: str, rng: Generator, free: Bits | None
) -> MemberSplit:
    """Draw members from some rows, and others from all other rows."""
    mine, theirs = _free_rows(own, free), _free_rows(~own, free)
    members = mine.size if sizes.members is None else sizes.members
    others = theirs.size if sizes.others is None and sizes.members is None else (sizes.others or members)
    parts = [
        SplitStratum(name=named, rows=mine, members=members, others=0, validation=sizes.validation),
        SplitStratum(name=f"rows outside {named}", rows=theirs, members=0, others=others),
    ]
    return draw_split(parts, sizes.most_rest, f"members of {named}, others from outside", rng)
