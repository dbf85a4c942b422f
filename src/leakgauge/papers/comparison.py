"""Compare a published number with ours: the rule that decides whether a paper reproduces.

Numbers that a paper prints are read from ``published.toml`` in the folder of the paper. The file has a table
``numbers``, whose entries are `PublishedNumber`, and a table ``tables``, whose entries are `PublishedTable`.
Claims such as "larger than" (zero) and formulas of a paper are code.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from math import isnan
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.support.table_reader import read_dataclass

_ROUNDING = 1e-9  # largest difference between two ways to compute the same number

AGREEMENT_RULE = (
    "A published number, or range, agrees with ours if it meets our interval, widened by half a unit of its "
    "last printed digit; otherwise it differs. The interval of a computed number has no width. Where the "
    "paper says “above”, “below” or “at most”, our whole interval must lie on that side; if the interval "
    "contains the limit, the comparison is undecided. Only the same quantity of the same attack is compared. "
    "Four kinds of numbers are not compared: those that the paper draws or describes without printing a "
    "number (beside them stands the exact value, where theory gives it), those that it prints for other data "
    "than ours, those that were not simulated, and those that only we have, of other attacks or other "
    "quantities."
)
UNDECIDED_REASON = "Our interval contains it: too few simulated releases to decide; use --scale full."
NOT_AT_THIS_SCALE = "Not simulated at this scale; use --scale full."
UNEXPLAINED = "No explanation is known."
FILE = "published.toml"


class Agreement(StrEnum):
    """The result of a comparison; the last four say why there is none.

    ``UNDECIDED``: the paper states a limit, and our interval contains it.
    """

    AGREES = "agrees"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    NOT_PRINTED = "no number printed"
    OTHER_DATA = "other data"
    NOT_SIMULATED = "not simulated"
    OURS_ONLY = "ours only"

    @property
    def is_compared(self) -> bool:
        """Whether a number of the paper was compared with ours."""
        return self in (Agreement.AGREES, Agreement.DIFFERS, Agreement.UNDECIDED)


class Claim(StrEnum):
    """What a paper claims of a quantity: equal to, above, below or at most a number."""

    EQUAL = "equal to"
    ABOVE = "above"
    BELOW = "below"
    AT_MOST = "at most"


@dataclass(frozen=True, kw_only=True)
class PublishedNumber:
    """A number that a paper prints, or that follows from a formula as printed there.

    ``where`` is its place in the paper. ``places`` is the number of printed decimals; without it the number
    is exact, as ln 2 is. Of a range, such as 1 % to 2 %, ``until`` is the larger end.
    """

    value: float
    where: str
    places: int | None = None
    claim: Claim = Claim.EQUAL
    until: float | None = None

    def __post_init__(self) -> None:
        if self.until is not None and (self.claim is not Claim.EQUAL or self.until <= self.value):
            raise BadInput(f"{self.where}: a range goes up from its value, and claims neither side")

    @property
    def slack(self) -> float:
        """How far rounding may have moved the number."""
        return _ROUNDING if self.places is None else 0.5 * 10.0**-self.places

    @property
    def written(self) -> str:
        """The number as the paper states it."""
        if self.until is not None:
            return f"{self._format(self.value)} to {self._format(self.until)}"
        value = self._format(self.value)
        return value if self.claim is Claim.EQUAL else f"{self.claim} {value}"

    def _format(self, value: float) -> str:
        return format_exact(value) if self.places is None else f"{value:.{self.places}f}"


@dataclass(frozen=True, kw_only=True)
class OurNumber:
    """Our value of the same quantity, with its interval; an exact value has an interval of no width."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise BadInput(f"a value of {self.value} is outside its interval {self.low} to {self.high}")

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def format_exact(value: float) -> str:
    """Format a computed number with four decimals; a number close to 0 or 1 is never rounded to it.

    >>> format_exact(0.91504), format_exact(0.99995), format_exact(0.0), format_exact(3e-16)
    ('0.9150', '0.99995', '0', '0')
    """
    if abs(value - round(value)) < _ROUNDING:
        return f"{value:.0f}".replace("-0", "0")
    text = f"{value:.4f}"
    return text if text.strip("-") not in ("0.0000", "1.0000") else f"{value:.5g}"


def exact_number(value: float) -> OurNumber:
    """Return a value that was computed, not measured."""
    return OurNumber(value=float(value), low=float(value), high=float(value))


@dataclass(frozen=True, kw_only=True)
class ComparedNumber:
    """One number of ours beside the published one.

    ``exact`` is the theoretical value. With ``drawn`` the paper draws or describes this without printing a
    number; without it and without a published number, it is ours only. With ``other_data`` the published
    number is that of other data: it is shown but not compared. Without ``ours`` the published number is only
    listed. ``why`` explains a difference, or why nothing can be compared.
    """

    setting: str
    ours: OurNumber | None
    published: PublishedNumber | None = None
    exact: float | None = None
    drawn: bool = False
    other_data: bool = False
    why: str = ""

    def __post_init__(self) -> None:
        if (self.other_data or self.ours is None) and not self.why:
            raise BadInput(f"{self.setting}: state why this cannot be compared")
        if self.ours is None and self.published is None:
            raise BadInput(f"{self.setting}: neither a published number nor one of ours")

    @property
    def verdict(self) -> Agreement:
        """Whether the numbers agree, by the rule above."""
        if self.published is None:
            return Agreement.NOT_PRINTED if self.drawn else Agreement.OURS_ONLY
        if self.other_data:
            return Agreement.OTHER_DATA
        return Agreement.NOT_SIMULATED if self.ours is None else _judge(self.ours, self.published)

    @property
    def contradicts(self) -> bool:
        """Whether our value is not what the paper says, whether or not this decides anything."""
        if self.published is None or self.ours is None:
            return False
        return _judge(exact_number(self.ours.value), self.published) is Agreement.DIFFERS

    @property
    def holds_exact(self) -> bool | None:
        """Whether our interval contains the exact value, if there is one."""
        if self.exact is None or self.ours is None:
            return None
        return _inside(self.ours, self.exact, _ROUNDING)

    @property
    def reason(self) -> str:
        """Explain the verdict in a sentence."""
        return " ".join(filter(None, [self._basis(), self.explanation]))

    @property
    def explanation(self) -> str:
        """Why the numbers differ, why nothing is compared, or what it takes to decide."""
        match self.verdict:
            case Agreement.UNDECIDED:
                return f"{UNDECIDED_REASON} {self.why if self.contradicts else ''}".strip()
            case Agreement.DIFFERS:
                return self.why or UNEXPLAINED
            case _:
                return self.why

    def to_json(self, paper: str, item: str) -> dict[str, Any]:
        """Return the cell of reproduction.json."""
        return {
            "paper": paper,
            "item": item,
            "setting": self.setting,
            "published": None if self.published is None else self.published.value,
            "ours": None if self.ours is None else self.ours.value,
            "low": None if self.ours is None else self.ours.low,
            "high": None if self.ours is None else self.ours.high,
            "exact": self.exact,
            "verdict": self.verdict.value,
            "reason": self.reason,
        }

    def _basis(self) -> str:
        if self.published is not None:
            return f"Published: {self.published.written}, {self.published.where}."
        here = (
            "The paper draws or describes this without a number"
            if self.drawn
            else "The paper does not have this"
        )
        if self.exact is None or self.ours is None:
            return f"{here}."
        if self.ours.is_exact:
            return f"{here}; its formula gives {format_exact(self.exact)}."
        place = "inside" if self.holds_exact else "outside"
        return f"{here}; the exact value, {format_exact(self.exact)}, lies {place} our interval."


def not_simulated(setting: str, published: PublishedNumber, why: str = NOT_AT_THIS_SCALE) -> ComparedNumber:
    """List a published number beside which we have none."""
    return ComparedNumber(setting=setting, ours=None, published=published, why=why)


def _judge(ours: OurNumber, published: PublishedNumber) -> Agreement:
    match published.claim:
        case Claim.EQUAL:
            most = published.value if published.until is None else published.until
            if ours.low - published.slack <= most and published.value <= ours.high + published.slack:
                return Agreement.AGREES
            return Agreement.DIFFERS
        case Claim.ABOVE:
            yes, no = ours.low > published.value, ours.high <= published.value
        case Claim.BELOW:
            yes, no = ours.high < published.value, ours.low >= published.value
        case Claim.AT_MOST:
            yes, no = (
                ours.high <= published.value + published.slack,
                ours.low > published.value + published.slack,
            )
    return Agreement.AGREES if yes else Agreement.DIFFERS if no else Agreement.UNDECIDED


def _inside(ours: OurNumber, value: float, slack: float) -> bool:
    return ours.low - slack <= value <= ours.high + slack


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One row of a table: values in the order of the columns, nan where nothing is printed."""

    name: str
    values: tuple[float, ...]
    errors: tuple[float, ...] = ()  # standard errors, where they are printed


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """A table of a paper; ``places`` is the number of decimals of its values."""

    where: str
    columns: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    places: int

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.values) != len(self.columns) or len(row.errors) not in (0, len(self.columns)):
                raise BadInput(f"{self.where}: row {row.name!r} must have {len(self.columns)} values")

    def row(self, name: str) -> PublishedRow:
        """Return the row of this name."""
        return next(row for row in self.rows if row.name == name)

    def numbers(self, name: str) -> Iterator[tuple[str, PublishedNumber]]:
        """Yield the printed numbers of a row, each with its column."""
        for column, value in zip(self.columns, self.row(name).values, strict=True):
            if not isnan(value):
                yield column, PublishedNumber(value=value, places=self.places, where=self.where)


@dataclass(frozen=True)
class PublishedNumbers:
    """All that ``published.toml`` of one paper holds."""

    numbers: Mapping[str, PublishedNumber]
    tables: Mapping[str, PublishedTable]

    def __getitem__(self, name: str) -> PublishedNumber:
        return self.numbers[name]


@lru_cache(maxsize=16)
def read_published(package: str) -> PublishedNumbers:
    """Read the numbers of a paper, given its package.

    >>> read_published("leakgauge.papers.huang")["certain"].value
    1.0
    """
    content = tomllib.loads(files(package).joinpath(FILE).read_text(encoding="utf-8"))
    where = f"{package}: {FILE}"
    return PublishedNumbers(
        {
            name: read_dataclass(PublishedNumber, table, f"{where}: {name}")
            for name, table in content.get("numbers", {}).items()
        },
        {
            name: read_dataclass(PublishedTable, table, f"{where}: {name}")
            for name, table in content.get("tables", {}).items()
        },
    )
