"""A synthetic city: people with homes who visit places by popularity, distance and time of the week."""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.data.visit_data import RowCounts, VisitData
from leakgauge.domains.locations.data.visit_files.epochs import DAY, parse_epoch_length
from leakgauge.domains.locations.data.visit_matrix import ones_matrix

# Relative numbers of visits by hour of the day, on weekdays and at weekends.
_WEEKDAY = (3, 2, 1, 1, 1, 2, 4, 8, 10, 9, 8, 9, 11, 11, 9, 9, 10, 12, 13, 12, 10, 9, 7, 5)
_WEEKEND = (5, 4, 3, 2, 1, 1, 2, 3, 5, 7, 9, 10, 11, 11, 10, 10, 11, 11, 11, 10, 9, 8, 7, 6)
# Tendency to be at home by hour of the day; 10 is always.
_AT_HOME = (9, 9, 9, 9, 9, 9, 8, 6, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8)
_HOUR = 3600

BLOCK = 0  # of the data stream
VERSION = "city 1"  # part of the digest: change it when the same city would have other visits
MOST_SITES = 10_000
MOST_USERS = 100_000_000
ATTEMPTS = 50  # draws to reach the wanted number of distinct cells
AT_ONCE = 2_000_000  # visits drawn together


def weekly_rhythm(n_epochs: int, length: int, home: float) -> tuple[Reals, Reals]:
    """The share of visits in each epoch, and the chance in each that a visit is at home.

    Epochs of ``length`` seconds begin on Monday 00:00; ``home`` is the share of all visits that are at home.

    >>> weekly_rhythm(168, 3600, home=0.3)[0].sum().round(9)
    np.float64(1.0)
    """
    weights = _integrate_epochs(np.array(_WEEKDAY * 5 + _WEEKEND * 2, dtype=float), n_epochs, length)
    weights /= weights.sum()
    base = _integrate_epochs(np.array(_AT_HOME * 7) / 10, n_epochs, length) / length
    return weights, _shift_to_mean(np.log(base / (1 - base)), weights, home)


def _shift_to_mean(odds: Reals, weights: Reals, share: float) -> Reals:
    """Shift all log-odds by the same amount so that the mean probability is ``share``."""
    if share == 0:
        return np.zeros(odds.size)
    low, high = -50.0, 50.0
    for _ in range(60):  # the mean grows with the shift
        shift = (low + high) / 2
        low, high = (shift, high) if weights @ _sigmoid(odds + shift) < share else (low, shift)
    return _sigmoid(odds + low)


def _sigmoid(odds: Reals) -> Reals:
    return 1 / (1 + np.exp(-odds))


def _integrate_epochs(week: Reals, n_epochs: int, length: int) -> Reals:
    """Integrate an hourly rate, which repeats every week, over epochs."""
    ends = np.arange(n_epochs + 1, dtype=float) * length / _HOUR
    weeks, hours = np.divmod(ends, week.size)
    total = np.concatenate([[0.0], np.cumsum(week)])
    summed = weeks * total[-1] + np.interp(hours, np.arange(week.size + 1), total)
    return np.diff(summed) * _HOUR


@dataclass(frozen=True, eq=False)
class MobilityModel:
    """Draws the epoch of a visit by the weekly rhythm, and its place: home, or another by attraction."""

    rhythm: Reals  # cumulated chances of epochs
    at_home: Reals  # chance of being at home, in each epoch
    reach: Reals  # cumulated chances of places, in a row for each home; row h runs from h to h + 1

    @classmethod
    def of(
        cls, positions: Reals, attraction: Reals, radius: float, rhythm: Reals, at_home: Reals
    ) -> "MobilityModel":
        """A place attracts by its own weight times ``exp(-distance from home / radius)``."""
        reach = np.empty((len(positions), len(positions)))
        for home, row in enumerate(reach):
            distance = np.hypot(*(positions - positions[home]).T)
            np.cumsum(attraction * np.exp(-distance / radius), out=row)
            row /= row[-1]
            row += home
        return cls(np.cumsum(rhythm), at_home, reach)

    @property
    def n_places(self) -> int:
        return len(self.reach)

    @property
    def n_epochs(self) -> int:
        return self.rhythm.size

    def draw(self, homes: Ints, wanted: Ints, rng: Generator) -> tuple[npt.NDArray[np.int32], Ints]:
        """Draw cells until each person has the wanted number of distinct ones, at most ``ATTEMPTS`` times.

        Return the cells, sorted per person, and how many each person has.
        """
        n_cells = self.n_places * self.n_epochs
        active = np.arange(homes.size)
        lack, keys, done = wanted, np.empty(0, dtype=np.int64), []
        for _ in range(ATTEMPTS):
            people = np.repeat(active, lack)
            keys = _distinct(np.concatenate([keys, people * n_cells + self._cells(homes[people], rng)]))
            owners = keys // n_cells
            missing = wanted - np.bincount(owners, minlength=homes.size)
            active = active[missing[active] > 0]
            unfinished = np.zeros(homes.size, dtype=bool)
            unfinished[active] = True
            done.append(keys[~unfinished[owners]])
            keys, lack = keys[unfinished[owners]], missing[active]
            if active.size == 0:
                break
        drawn = np.sort(np.concatenate([*done, keys]))
        return (drawn % n_cells).astype(np.int32), np.bincount(drawn // n_cells, minlength=homes.size)

    def _cells(self, homes: Ints, rng: Generator) -> Ints:
        """One cell for each of these homes."""
        epochs = draw_by_cumulated_weights(self.rhythm, rng.random(homes.size))
        places = homes.copy()
        away = np.flatnonzero(rng.random(homes.size) >= self.at_home[epochs])
        chances = homes[away] + rng.random(away.size)
        drawn = np.searchsorted(self.reach.ravel(), chances, side="right") - homes[away] * self.n_places
        places[away] = np.minimum(drawn, self.n_places - 1)
        return places * self.n_epochs + epochs


def draw_by_cumulated_weights(cumulated: Reals, chances: Reals) -> Ints:
    """Draw by cumulated weights, given numbers in [0, 1).

    >>> draw_by_cumulated_weights(np.array([1.0, 4.0]), np.array([0.2, 0.3])).tolist()
    [0, 1]
    """
    return np.minimum(np.searchsorted(cumulated, chances * cumulated[-1], side="right"), cumulated.size - 1)


def _distinct(keys: Ints) -> Ints:
    """Sort, and drop repetitions; several times faster on millions of keys than ``np.unique``."""
    keys.sort()
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys


@dataclass(frozen=True, kw_only=True)
class SyntheticCity:
    """Size and mobility of a city. The defaults are a week as large as the Milan data of Guan et al. (2024).

    Activity (visits per person) and popularity (of places) are log-normal. Away from home, places are drawn
    by popularity times ``exp(-distance from home / radius)``.
    """

    users: int = 4840
    sites: int = 100
    epochs: int = 168
    epoch: str = "1h"
    visits: float = 21.5  # mean number of cells that a person visits
    skew: float = 1.0  # standard deviation of the logarithm of activity
    popularity: float = 1.0  # standard deviation of the logarithm of popularity
    home: float = 0.3  # share of visits at home: most by night, few by day
    radius: float = 3000.0  # metres
    layout: Literal["grid", "irregular"] = "grid"
    spacing: float = 1600.0  # metres between neighbouring places, on average
    positions: bool = True  # whether it is known where places lie
    categories: int = 0  # counted are not places but so many kinds of them, without positions; 0: places

    def __post_init__(self) -> None:
        for name in ("users", "sites", "epochs"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.users > MOST_USERS:
            raise BadInput(f"users must be <= {MOST_USERS}, got {self.users}")
        if self.sites > MOST_SITES:
            raise BadInput(f"sites must be <= {MOST_SITES}, got {self.sites}")
        if self.sites * self.epochs >= 2**31:
            raise BadInput(f"{self.sites} sites in {self.epochs} epochs are too many cells; at most 2^31 - 1")
        for name in ("radius", "spacing"):
            if not 0 < getattr(self, name) < np.inf:
                raise BadInput(f"{name} must be a length in metres > 0, got {getattr(self, name)}")
        for name in ("skew", "popularity"):
            if not 0 <= getattr(self, name) <= 5:
                raise BadInput(f"{name} must be in [0, 5], got {getattr(self, name)}; 0 makes all equal")
        if not 0 <= self.home < 1:
            raise BadInput(f"home must be in [0, 1), got {self.home}")
        if not 0 <= self.categories <= self.sites:
            raise BadInput(
                f"categories must be in 0..{self.sites}, the number of sites, got {self.categories}"
            )
        most = self.sites * self.epochs / 4
        if not 0 < self.visits <= most:
            raise BadInput(
                f"visits must be > 0 and at most a quarter of the cells ({most:g}), got {self.visits}"
            )
        parse_epoch_length(self.epoch)


def generate_city(city: SyntheticCity, seed: int) -> VisitData:
    """Draw the visits of all people: for each, a number of distinct cells given by their activity."""
    rng = stream(seed, Role.DATA, BLOCK)
    length = parse_epoch_length(city.epoch)
    positions = _positions(city, rng)
    attraction = np.exp(city.popularity * rng.standard_normal(city.sites))
    mobility = MobilityModel.of(
        positions, attraction, city.radius, *weekly_rhythm(city.epochs, length, city.home)
    )
    homes = draw_by_cumulated_weights(
        np.cumsum(np.exp(city.popularity * rng.standard_normal(city.sites))), rng.random(city.users)
    )
    wanted = _activity(city, rng)
    columns, ends = np.empty(int(wanted.sum()), dtype=np.int32), np.zeros(city.users + 1, dtype=np.int64)
    for first, last in _blocks(wanted):
        cells, drawn = mobility.draw(homes[first:last], wanted[first:last], rng)
        ends[first + 1 : last + 1] = ends[first] + np.cumsum(drawn)
        columns[ends[first] : ends[last]] = cells
    columns = columns[: ends[-1]]
    visits = ones_matrix(columns, ends, city.sites * city.epochs)
    if city.categories:
        visits = _by_category(visits, city, rng)
    days = np.arange(city.epochs, dtype=np.int64) * length // DAY
    content = json.dumps([VERSION, _settings(city), seed], sort_keys=True)
    known = positions if city.positions and not city.categories else None
    return VisitData(
        traces=Traces(visits, CellMap(city.categories or city.sites, city.epochs, days, known)),
        tally=RowCounts(rows=columns.size, kept=visits.nnz),
        digest=sha256(content.encode()).hexdigest(),
    )


def _by_category(visits: csr_array, city: SyntheticCity, rng: Generator) -> csr_array:
    """Count kinds of places instead of places; each kind has as many places as any other, give or take one.

    Who is at two places of a kind in the same epoch is counted there once.
    """
    kinds = rng.permutation(np.arange(city.sites, dtype=visits.indices.dtype) % city.categories)
    place, epoch = np.divmod(visits.indices, city.epochs)
    merged = csr_array(
        (np.ones(visits.nnz, dtype=np.uint8), kinds[place] * city.epochs + epoch, visits.indptr),
        shape=(city.users, city.categories * city.epochs),
    )
    merged.sum_duplicates()
    merged.data[:] = 1
    return merged


def _settings(city: SyntheticCity) -> dict[str, object]:
    """What decides the visits; what was added later is left out where it is not used."""
    later: dict[str, object] = {"positions": True, "categories": 0}
    return {key: value for key, value in asdict(city).items() if key not in later or value != later[key]}


def _positions(city: SyntheticCity, rng: Generator) -> Reals:
    """Places on a square grid, row after row, or scattered around a centre."""
    side = int(np.ceil(np.sqrt(city.sites)))
    if city.layout == "grid":
        rows, columns = np.divmod(np.arange(city.sites), side)
        return city.spacing * np.column_stack([columns + 0.5, rows + 0.5])
    return city.spacing * (side / 2 + side / 4 * rng.standard_normal((city.sites, 2)))


def _activity(city: SyntheticCity, rng: Generator) -> Ints:
    """How many cells each person visits: log-normal with the given mean, rounded at random, at least 1."""
    exact = np.exp(city.skew * rng.standard_normal(city.users) - city.skew**2 / 2) * city.visits
    rounded = np.floor(exact + rng.random(city.users)).astype(np.int64)
    return np.clip(rounded, 1, max(1, city.sites * city.epochs // 2))


def _blocks(wanted: Ints) -> list[tuple[int, int]]:
    """Divide people into blocks of about ``AT_ONCE`` visits."""
    blocks = np.cumsum(wanted) // AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), wanted.size]
    return list(pairwise(edges))
