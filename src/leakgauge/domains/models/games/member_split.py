"""Split rows into members, others and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import Ints


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
