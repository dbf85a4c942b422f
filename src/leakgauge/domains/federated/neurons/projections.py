"""Pictures of a perturbed target among other rows: points of a plane, and histograms of neuron values."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons import network, perturbed_rows


class ProjectionMethod(StrEnum):
    """How rows are projected to a plane."""

    PCA = "pca"  # the two directions in which the points differ most
    TSNE = "tsne"  # keeps neighbourhoods (van der Maaten and Hinton 2008), not distances


@dataclass(frozen=True, eq=False)
class RowProjection:
    """Points of a plane, as x and y in columns (figure 6)."""

    target: Reals  # one point, without noise
    own: Reals  # the target with noise, many times; without noise once
    others: Reals  # rows of the attacker with noise


def project_rows(
    knowledge: ServerKnowledge,
    place: int,
    rng: Generator,
    *,
    projection: ProjectionMethod = ProjectionMethod.PCA,
    copies: int = 200,
    others: int = 500,
) -> RowProjection:
    """Perturb a target many times and other rows once, and project all of them together.

    The other rows are the attacker's, so the picture shows what it can know before the rounds.
    """
    if not (copies >= 1 and others >= 1):
        raise BadInput(f"a projection needs copies and others >= 1, got {copies} and {others}")
    target, n_others = knowledge.targets[[place]], min(others, len(knowledge.rows))
    rows = knowledge.rows[rng.choice(len(knowledge.rows), n_others, replace=False)]
    mechanism = knowledge.training.mechanism
    own = perturbed_rows.perturb(target, copies, mechanism, rng)
    rows_together = np.concatenate([target, own, perturbed_rows.perturb(rows, 1, mechanism, rng)])
    points = _tsne(rows_together, rng) if projection is ProjectionMethod.TSNE else _pca(rows_together)
    return RowProjection(points[:1], points[1 : 1 + len(own)], points[1 + len(own) :])


def _pca(rows: network.Floats) -> Reals:
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    first = np.zeros((2, rows.shape[1]))
    first[: min(2, len(axes))] = axes[:2]
    ends = first[np.arange(2), np.abs(first).argmax(axis=1)]
    return (
        centred @ (first * np.where(ends < 0, -1, 1)[:, None]).T
    )  # a sign that does not depend on the library


def _tsne(rows: network.Floats, rng: Generator) -> Reals:
    from sklearn.manifold import TSNE

    seed = int(rng.integers(2**31))
    perplexity = min(30.0, (len(rows) - 1) / 3)
    layout = TSNE(perplexity=perplexity, init="pca", learning_rate="auto", random_state=seed)
    return layout.fit_transform(rows.astype(np.float64)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ValueHistogram:
    """Shares of a neuron's values in bins with the same edges; zero is one of them (figure 10)."""

    edges: Reals
    own: Reals  # of the perturbed target
    others: Reals  # of perturbed rows of the attacker


def value_histogram(
    knowledge: ServerKnowledge,
    crafted: network.CraftedNeuron,
    place: int,
    rng: Generator,
    *,
    draws: int = 4_000,
    bins: int = 60,
) -> ValueHistogram:
    """Draw the neuron's value at the target many times, at each of the attacker's rows once."""
    if not (draws >= 1 and bins >= 1):
        raise BadInput(f"a histogram needs draws and bins >= 1, got {draws} and {bins}")
    mechanism = knowledge.training.mechanism
    own = perturbed_rows.perturbed_values(crafted, knowledge.targets[[place]], draws, mechanism, rng)
    others = perturbed_rows.perturbed_values(crafted, knowledge.rows, 1, mechanism, rng)
    edges = _edges(min(own.min(), others.min()), max(own.max(), others.max()), bins)
    own_shares, other_shares = (_shares(values, edges) for values in (own, others))
    return ValueHistogram(edges, own_shares, other_shares)


def _edges(least: float, most: float, bins: int) -> Reals:
    """Return the edges of about ``bins`` bins over least .. most, with an edge at zero."""
    least, most = min(float(least), 0.0), max(float(most), 0.0)
    width = (most - least) / bins or 1.0
    return width * np.arange(np.ceil(least / width) - 1, np.ceil(most / width) + 1)


def _shares(values: Reals, edges: Reals) -> Reals:
    """Return the share of values in each bin; a value at an edge belongs to the bin below it."""
    places = np.searchsorted(edges, values, side="left") - 1
    return np.bincount(np.clip(places, 0, edges.size - 2), minlength=edges.size - 1) / values.size
