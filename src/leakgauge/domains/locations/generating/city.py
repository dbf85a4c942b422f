"""A generated city: people with homes, who move about by day, most to places that are popular and near."""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.generating.daily import rhythm
from leakgauge.domains.locations.generating.mobility import Habits, pick
from leakgauge.domains.locations.reading.clock import length_of
from leakgauge.domains.locations.reading.loaded import Loaded, Tally
from leakgauge.domains.locations.reading.zones import DAY
from leakgauge.domains.locations.traces import Ints, Map, Traces

BLOCK = 0  # of the stream of the data
VERSION = "city 1"  # part of the digest: change it when the same city would have other visits
MOST_SITES = 10_000
AT_ONCE = 2_000_000  # visits drawn together


@dataclass(frozen=True, kw_only=True)
class City:
    """Sizes and habits. The defaults give a week of the size of Guan et al.'s (2024) Milan.

    Activity (visits per person) and popularity (of places) are log-normal. Away from home, places are drawn
    by popularity times ``exp(-distance from home / radius)``.
    """

    users: int = 4840
    sites: int = 100
    epochs: int = 168
    epoch: str = "1h"
    visits: float = 21.5  # mean number of cells that a person visits
    skew: float = 1.0  # standard deviation of the logarithm of activity
    popularity: float = 1.0  # the same of popularity
    home: float = 0.3  # share of visits at home: most by night, few by day
    radius: float = 3000.0  # metres
    layout: Literal["grid", "irregular"] = "grid"
    spacing: float = 1600.0  # metres between neighbouring places, on average

    def __post_init__(self) -> None:
        for name in ("users", "sites", "epochs"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.sites > MOST_SITES:
            raise BadInput(f"sites must be <= {MOST_SITES}, got {self.sites}")
        if self.sites * self.epochs >= 2**31:
            raise BadInput(f"{self.sites} sites in {self.epochs} epochs are too many cells; at most 2^31 - 1")
        for name in ("radius", "spacing"):
            if not 0 < getattr(self, name) < np.inf:
                raise BadInput(f"{name} must be a length in metres > 0, got {getattr(self, name)}")
        for name in ("skew", "popularity"):
            if not 0 <= getattr(self, name) <= 5:
                raise BadInput(f"{name} must be in [0, 5], got {getattr(self, name)}; 0 makes all alike")
        if not 0 <= self.home < 1:
            raise BadInput(f"home must be in [0, 1), got {self.home}")
        most = self.sites * self.epochs / 4
        if not 0 < self.visits <= most:
            raise BadInput(
                f"visits must be > 0 and at most a quarter of the cells ({most:g}), got {self.visits}"
            )
        length_of(self.epoch)


def generate(city: City, seed: int) -> Loaded:
    """Draw everybody's visits: as many distinct cells as their activity asks for."""
    rng = stream(seed, Role.DATA, BLOCK)
    length = length_of(city.epoch)
    positions = _positions(city, rng)
    attraction = np.exp(city.popularity * rng.standard_normal(city.sites))
    habits = Habits.of(positions, attraction, city.radius, *rhythm(city.epochs, length, city.home))
    homes = pick(np.cumsum(np.exp(city.popularity * rng.standard_normal(city.sites))), rng.random(city.users))
    wanted = _activity(city, rng)
    parts = [habits.draw(homes[first:last], wanted[first:last], rng) for first, last in _blocks(wanted)]
    columns = np.concatenate([cells for cells, _ in parts])
    ends = np.concatenate([[0], np.cumsum(np.concatenate([n for _, n in parts]))])
    visits = csr_array(
        (np.ones(columns.size, dtype=np.uint8), columns, ends), shape=(city.users, city.sites * city.epochs)
    )
    days = np.arange(city.epochs, dtype=np.int64) * length // DAY
    said = json.dumps([VERSION, asdict(city), seed], sort_keys=True)
    return Loaded(
        traces=Traces(visits, Map(city.sites, city.epochs, days, positions)),
        tally=Tally(rows=columns.size, kept=columns.size),
        digest=sha256(said.encode()).hexdigest(),
    )


def _positions(city: City, rng: Generator) -> Reals:
    """Places on a square grid, row after row, or scattered about a centre."""
    side = int(np.ceil(np.sqrt(city.sites)))
    if city.layout == "grid":
        rows, columns = np.divmod(np.arange(city.sites), side)
        return city.spacing * np.column_stack([columns + 0.5, rows + 0.5])
    return city.spacing * (side / 2 + side / 4 * rng.standard_normal((city.sites, 2)))


def _activity(city: City, rng: Generator) -> Ints:
    """How many cells everybody visits: log-normal with the mean asked for, rounded at random, at least 1."""
    exact = np.exp(city.skew * rng.standard_normal(city.users) - city.skew**2 / 2) * city.visits
    rounded = np.floor(exact + rng.random(city.users)).astype(np.int64)
    return np.clip(rounded, 1, max(1, city.sites * city.epochs // 2))


def _blocks(wanted: Ints) -> list[tuple[int, int]]:
    """Divide people so that about as many visits are drawn at once."""
    blocks = np.cumsum(wanted) // AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), wanted.size]
    return list(pairwise(edges))
