"""Whether two conditions can select the same record, decided from the conditions alone."""

from dataclasses import dataclass

from leakgauge.domains.queries.sql.conditions import And, Condition, IsIn, OneSidedBound, Operand, Value


@dataclass(frozen=True)
class ValueRange:
    """The values that an operand can have: members of a set, between two bounds."""

    values: frozenset[Value] | None = None
    low: OneSidedBound | None = None
    high: OneSidedBound | None = None

    def within(self, other: "ValueRange") -> "ValueRange":
        """Return the intersection of two ranges."""
        values = self.values if other.values is None else other.values
        if self.values is not None and other.values is not None:
            values = self.values & other.values
        return ValueRange(values, _tighter(self.low, other.low), _tighter(self.high, other.high))

    @property
    def empty(self) -> bool:
        """Whether no value is possible."""
        if self.values is not None:
            return not any(
                _satisfies(value, self.low) and _satisfies(value, self.high) for value in self.values
            )
        if self.low is None or self.high is None:
            return False
        low, high = self.low.value, self.high.value
        return low > high or (low == high and not (self.low.closed and self.high.closed))  # type: ignore[operator]


def value_ranges(condition: Condition) -> dict[Operand, ValueRange]:
    """Return necessary ranges of single operands; the condition may be stricter.

    >>> from leakgauge.domains.queries.sql.conditions import ColumnType
    >>> age = Operand('"age"', ColumnType.WHOLE)
    >>> value_ranges(OneSidedBound(age, 30, lower=True))[age].low.value
    30
    """
    match condition:
        case IsIn(operand, values, False):
            return {operand: ValueRange(values)}
        case OneSidedBound(operand, _, lower, _):
            return {operand: ValueRange(low=condition) if lower else ValueRange(high=condition)}
        case And(parts):
            ranges: dict[Operand, ValueRange] = {}
            for part in parts:
                for operand, span in value_ranges(part).items():
                    ranges[operand] = ranges.get(operand, ValueRange()).within(span)
            return ranges
        case _:
            return {}


def are_disjoint(first: dict[Operand, ValueRange], other: dict[Operand, ValueRange]) -> bool:
    """Return whether no record can satisfy both, because some operand would need two values.

    False may also mean that this is unknown.
    """
    return any(first[operand].within(other[operand]).empty for operand in first.keys() & other.keys())


def _tighter(first: OneSidedBound | None, other: OneSidedBound | None) -> OneSidedBound | None:
    if first is None or other is None:
        return first or other
    if first.value == other.value:
        return other if first.closed else first
    return first if (first.value > other.value) == first.lower else other  # type: ignore[operator]


def _satisfies(value: Value, bound: OneSidedBound | None) -> bool:
    if bound is None or value == bound.value:
        return bound is None or bound.closed
    return (value > bound.value) == bound.lower  # type: ignore[operator]
