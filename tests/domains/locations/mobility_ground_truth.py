"""Releases whose true habits are known, and how far estimates are from them."""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile, total_variation
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import laplace

SETTINGS = [
    "raw",
    *(f"suppress {k}" for k in range(1, 6)),
    *(f"event {epsilon}" for epsilon in (0.1, 0.5, 1, 5, 10)),
    *(f"user-day {epsilon}" for epsilon in (0.1, 0.5, 1, 10)),
    "event 1, suppress 1",
]


def chain_of(setting: str, group_size: int) -> ReleaseChain:
    """A setting of Guan et al. (2024): noise rounded down and clamped; ten visits protected a day."""
    kind, _, rest = setting.partition(" ")
    if kind in ("raw", "suppress"):
        return ReleaseChain(noise=None, group_size=group_size, suppress=int(rest or 0))
    epsilon, _, suppress = rest.partition(", suppress ")
    noise = laplace.Mechanism(epsilon=float(epsilon), sensitivity=10.0 if kind == "user-day" else 1.0)
    return ReleaseChain(
        noise=noise, group_size=group_size, round=True, clamp=True, suppress=int(suppress or 0)
    )


def group_counts(people: Traces, n: int, size: int, seed: int = 1) -> np.ndarray:
    """Counts of random groups, a row each."""
    crowd, rng = Crowd(people), np.random.default_rng(seed)
    return np.asarray(crowd.counts(crowd.people(n, size, rng)), dtype=np.int64)


def distances(found: MobilityProfile, true: MobilityProfile) -> tuple[float, float, float]:
    """Total variation of space and of time, and the relative error of the mean."""
    return (
        total_variation(found.space, true.space),
        total_variation(found.time, true.time),
        found.mean / true.mean - 1,
    )


def homely(n_people=2_000, n_places=36, n_days=3, mean=12.0, seed=1) -> Traces:
    """People who are at home or near it, most by day; activity and popularity are log-normal."""
    rng = np.random.default_rng(seed)
    n_epochs = 24 * n_days
    side = int(np.sqrt(n_places))
    positions = 1000.0 * np.column_stack(np.divmod(np.arange(n_places), side))
    popularity = np.exp(rng.standard_normal(n_places))
    near = popularity * np.exp(-np.abs(positions[:, None] - positions).sum(axis=2) / 2000)
    near = np.cumsum(near / near.sum(axis=1, keepdims=True) + np.eye(n_places), axis=1) / 2
    hours = np.cumsum(np.exp(-np.cos(2 * np.pi * np.arange(n_epochs) / 24)))
    visits = rng.poisson(mean * np.exp(0.8 * rng.standard_normal(n_people) - 0.32))
    people = np.repeat(np.arange(n_people), visits)
    homes = rng.choice(n_places, n_people, p=popularity / popularity.sum())[people]
    places = np.minimum((near[homes] < rng.random(people.size)[:, None]).sum(axis=1), n_places - 1)
    epochs = np.searchsorted(hours, rng.random(people.size) * hours[-1])
    dense = np.zeros((n_people, n_places * n_epochs), dtype=np.uint8)
    dense[people, places * n_epochs + epochs] = 1
    return Traces(csr_array(dense), CellMap(n_places, n_epochs, np.arange(n_epochs) // 24, positions))
