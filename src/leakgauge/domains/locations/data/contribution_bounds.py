"""Contribution bounds: caps on how many visits of one person are counted."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits
from leakgauge.domains.locations.data.traces import Ints, Traces


def bound_contributions(
    traces: Traces,
    *,
    per_epoch: int | None = None,
    per_day: int | None = None,
    per_user: int | None = None,
    rng: Generator,
) -> Traces:
    """Cap the visits of each person per epoch, then per day, then in total.

    The kept visits are drawn once. Each cap draws a uniform random subset of the visits that the caps before
    it kept.
    """
    for name, cap in (("per_epoch", per_epoch), ("per_day", per_day), ("per_user", per_user)):
        if cap is not None and not cap >= 1:
            raise BadInput(f"challenger.{name} must be >= 1, got {cap}; leave it out for no cap")
    if per_epoch is not None:
        traces = _keep_at_most(traces, traces.map.epochs(_cells(traces)), traces.map.n_epochs, per_epoch, rng)
    if per_day is not None:
        days = traces.map.days[traces.map.epochs(_cells(traces))]
        traces = _keep_at_most(traces, days, int(traces.map.days.max()) + 1, per_day, rng)
    if per_user is not None:
        traces = _keep_at_most(traces, np.zeros(traces.visits.nnz, dtype=np.int64), 1, per_user, rng)
    return traces


def _keep_at_most(traces: Traces, slots: Ints, n_slots: int, cap: int, rng: Generator) -> Traces:
    """Keep at most ``cap`` visits of every person in every slot."""
    people = np.repeat(np.arange(traces.n_people), traces.n_visits)
    keep = _random_subset(people * n_slots + slots, cap, rng)
    visits = traces.visits
    left = np.concatenate([[0], np.cumsum(keep)])
    thinned = type(visits)((visits.data[keep], visits.indices[keep], left[visits.indptr]), shape=visits.shape)
    return replace(traces, visits=thinned)


def _random_subset(groups: Ints, cap: int, rng: Generator) -> Bits:
    """Mark a uniform random subset of at most ``cap`` elements of each group."""
    keep = np.ones(groups.size, dtype=bool)
    large = _groups_above(groups, cap)
    if large.size == 0:
        return keep
    positions = np.minimum(np.searchsorted(large, groups), large.size - 1)
    shuffled = rng.permutation(np.flatnonzero(large[positions] == groups))
    ordered = shuffled[np.argsort(groups[shuffled], kind="stable")]
    keep[ordered] = _ranks(groups[ordered]) < cap
    return keep


def _groups_above(groups: Ints, cap: int) -> Ints:
    """The groups with more than ``cap`` elements, in order: sorted, they repeat ``cap`` positions later."""
    ordered = np.sort(groups)
    repeated = ordered[cap:][ordered[cap:] == ordered[:-cap]]
    return repeated[np.flatnonzero(np.diff(repeated, prepend=-1))]


def _ranks(groups: Ints) -> Ints:
    """The position of each element in its group; groups are contiguous and there is at least one."""
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    return np.arange(groups.size) - np.repeat(starts, np.diff(np.append(starts, groups.size)))


def _cells(traces: Traces) -> Ints:
    return traces.visits.indices.astype(np.int64)
