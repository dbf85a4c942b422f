"""Search for the most useful setting within the limits: a coarse grid, then bisection between neighbours.

Risk need not fall steadily towards the safe end (suppression, or a budget that is spent in whole answers, may
work the other way), so the grid covers the whole range first, and every setting that is returned was assessed
itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import exp, log
from typing import Any

from leakgauge.core.domain import Domain
from leakgauge.core.errors import BadInput
from leakgauge.parameter_search.assessment import Assessment
from leakgauge.parameter_search.dimensions import Dimension, Setting

Assess = Callable[[Setting], Assessment | None]
TOLERANCE = 0.002  # relative, of a number that was found by bisection
_ALIKE = 1e-6  # risks that differ by less are the same


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How many settings are assessed for a range: on the grid, and at most how many by bisection."""

    grid: int
    halvings: int


COMPUTED_EFFORT = Effort(grid=9, halvings=14)
SIMULATED_EFFORT = Effort(grid=4, halvings=5)


@dataclass(eq=False)
class ParameterSearch:
    """Assesses settings once each, and keeps them.

    ``assess`` returns nothing for a setting whose risk is not known that way. ``prefer`` is larger for a more
    useful setting.
    """

    dimensions: tuple[Dimension, ...]
    assess: Assess
    prefer: Callable[[Assessment], Any]
    effort: Effort
    tried: dict[str, Assessment] = field(default_factory=dict)
    impossible: dict[str, tuple[Setting, str]] = field(default_factory=dict)  # with the reasons

    def best(self, margin: float = 0.0) -> Assessment | None:
        """The most useful setting whose risk is below the limits by a margin; nothing where none is."""
        return max(self.best_of_each(margin), key=self.prefer, default=None)

    def best_of_each(self, margin: float = 0.0) -> list[Assessment]:
        """The most useful setting below the limits for each combination of the lists."""
        return [one for values in self._lists() if (one := self._best_along(values, margin)) is not None]

    def closest(self) -> Assessment | None:
        """The setting that was tried and comes closest to the limits."""
        return min(self.tried.values(), key=lambda one: one.excess, default=None)

    def untried(self) -> list[tuple[Setting, str]]:
        """The combinations of the lists of which no setting could be assessed, each with the reason."""
        found: list[tuple[Setting, str]] = []
        for values in self._lists():
            if values and not any(_holds(one.setting, values) for one in self.tried.values()):
                reasons = [why for setting, why in self.impossible.values() if _holds(setting, values)]
                found.append((dict(values), next(iter(reasons), "not known")))
        return found

    def try_setting(self, setting: Setting) -> Assessment | None:
        """Assess a setting, or return what was found before; nothing where the plan does not allow it."""
        key = repr(sorted(setting.items()))
        if key in self.impossible:
            return None
        if key not in self.tried:
            try:
                found = self.assess(setting)
            except BadInput as error:
                self.impossible[key] = (dict(setting), str(error))
                return None
            if found is None:
                self.impossible[key] = (dict(setting), "not known")
                return None
            self.tried[key] = found
        return self.tried[key]

    @property
    def is_monotone(self) -> bool:
        """Whether risk never rose on the way to the safe end of a key, with the other keys the same."""
        return all(
            later.excess <= earlier.excess + _ALIKE + earlier.error + later.error
            for dimension in self.dimensions
            for line in self._lines(dimension)
            for earlier, later in pairwise(line)
        )

    def _lines(self, dimension: Dimension) -> Iterator[list[Assessment]]:
        """Tried settings that differ in one key only, from the most useful to the safest."""
        groups: dict[str, list[Assessment]] = {}
        for one in self.tried.values():
            others = sorted((key, value) for key, value in one.setting.items() if key != dimension.key)
            groups.setdefault(repr(others), []).append(one)
        for group in groups.values():
            yield sorted(group, key=lambda one: -dimension.usefulness(one.setting[dimension.key]))

    def _lists(self) -> Iterable[Mapping[str, Any]]:
        """The product of the lists of values, the most useful first."""
        lists = [one for one in self.dimensions if not one.is_range]
        keys = [one.key for one in lists]
        return (dict(zip(keys, values)) for values in product(*(one.values for one in lists)))

    def _best_along(self, fixed: Setting, margin: float) -> Assessment | None:
        ranges = [one for one in self.dimensions if one.is_range]
        if not ranges:
            found = self.try_setting(fixed)
            return found if found is not None and is_below(found, margin) else None
        (dimension,) = ranges
        grid = [self.try_setting({**fixed, dimension.key: value}) for value in self._grid(dimension)]
        place = next((i for i, one in enumerate(grid) if one is not None and is_below(one, margin)), None)
        if place is None:
            return self._last_possible(dimension, fixed, grid, margin)
        safe = grid[place]
        assert safe is not None
        if place == 0:
            return safe
        over = grid[place - 1]
        if over is None:
            return safe
        return self._halve(dimension, fixed, over, safe, margin)

    def _last_possible(
        self, dimension: Dimension, fixed: Setting, grid: list[Assessment | None], margin: float
    ) -> Assessment | None:
        """Look for a setting below the limits between the last one that is over and one that is impossible.

        A budget below the cost of one answer is impossible, for instance, and that of one answer may be safe.
        """
        values = self._grid(dimension)
        place = max((i for i, one in enumerate(grid) if one is not None), default=None)
        if place is None or place == len(grid) - 1:
            return None
        outside, beyond = values[place], values[place + 1]
        for _ in range(self.effort.halvings):
            middle = dimension.rounded(exp((log(outside) + log(beyond)) / 2))
            found = self.try_setting({**fixed, dimension.key: middle})
            if found is not None and is_below(found, margin):
                over = self.try_setting({**fixed, dimension.key: outside})
                return found if over is None else self._halve(dimension, fixed, over, found, margin)
            outside, beyond = (outside, middle) if found is None else (middle, beyond)
        return None

    def _grid(self, dimension: Dimension) -> list[float]:
        """Numbers in equal ratios from the useful end to the safe end, rounded to the safe side."""
        n, (first, last) = self.effort.grid, (log(dimension.useful_end), log(dimension.safe_end))
        inner = (dimension.rounded(exp(first + (last - first) * i / (n - 1))) for i in range(1, n - 1))
        return [dimension.useful_end, *inner, dimension.safe_end]

    def _halve(
        self, dimension: Dimension, fixed: Setting, over: Assessment, safe: Assessment, margin: float
    ) -> Assessment:
        """Halve the ratio between a setting that is over and one that is not; return one that is not."""
        key = dimension.key
        for _ in range(self.effort.halvings):
            outside, inside = float(over.setting[key]), float(safe.setting[key])
            if abs(log(outside / inside)) < TOLERANCE:
                break
            middle = dimension.rounded(exp((log(outside) + log(inside)) / 2))
            if middle == inside:
                middle = dimension.next_useful(inside)
            if abs(log(outside / inside)) <= abs(log(middle / inside)) + _ALIKE:
                break
            found = self.try_setting({**fixed, key: middle})
            if found is not None and is_below(found, margin):
                safe = found
            elif found is not None:
                over = found
            else:
                break
        return safe


def _holds(setting: Setting, values: Setting) -> bool:
    return all(setting[key] == value for key, value in values.items())


def is_below(one: Assessment, margin: float) -> bool:
    """Whether a setting is within all limits, and within those on attackers by a margin."""
    return one.excess < 0 and one.rate_excess < -margin


def usefulness(
    dimensions: Sequence[Dimension], name: str | None, domain: Domain
) -> Callable[[Assessment], tuple[float, ...]]:
    """How useful a setting is: whether at all, by a number on utility, then by its values in their order."""
    lower_is_better = name is not None and domain.utility[name].lower_is_better

    def prefer(one: Assessment) -> tuple[float, ...]:
        known = None if name is None or one.utility is None else one.utility.get(name)
        number = 0.0 if known is None else -known if lower_is_better else known
        useful = float(domain.is_useful(one.utility))
        return (
            useful,
            number,
            *(dimension.usefulness(one.setting[dimension.key]) for dimension in dimensions),
        )

    return prefer
