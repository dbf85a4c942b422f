"""Maps and histograms, against what rows and neurons were made to be."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from domains.federated.small_games import small_server
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.neurons.projections import (
    ProjectionMethod,
    _edges,
    _pca,
    _shares,
    project_rows,
    value_histogram,
)

BITRAND = {"name": "bitrand", "epsilon": 5.0}


def server_of(mechanism=BITRAND, *, features=40, **setting):
    return small_server(mechanism, data={"features": features}, **setting)[1]


def test_map_has_target_copies_and_others():
    made = project_rows(server_of(), 0, np.random.default_rng(1), copies=30, others=70)
    assert [part.shape for part in (made.target, made.own, made.others)] == [(1, 2), (30, 2), (70, 2)]


def test_map_shows_no_more_rows_than_exist():
    server = small_server(BITRAND, data={"rows": 100})[1]
    assert len(project_rows(server, 0, np.random.default_rng(1)).others) == len(server.rows)


def test_principal_components_match_another_library():
    rows = np.random.default_rng(2).normal(size=(60, 9)).astype(np.float32) * np.arange(1, 10)
    rows = rows.astype(np.float32)
    np.testing.assert_allclose(np.abs(_pca(rows)), np.abs(PCA(2).fit_transform(rows)), rtol=1e-3, atol=1e-3)


def test_one_feature_gives_a_line():
    points = _pca(np.arange(5, dtype=np.float32)[:, None])
    assert points[:, 0].tolist() == [-2, -1, 0, 1, 2]
    assert not points[:, 1].any()


def test_copies_are_closer_with_less_noise():
    """As in figure 6: at a large epsilon they are a cloud of their own, at a small one they blend in."""

    def share(epsilon):
        server = server_of({"name": "bitrand", "epsilon": epsilon})
        made = project_rows(server, 0, np.random.default_rng(1))
        return np.linalg.norm(made.own.std(axis=0)) / np.linalg.norm(made.others.std(axis=0))

    assert share(10.0) < share(3.0) < share(0.5)


def test_neighbour_map_is_reproducible():
    server = server_of()
    said = {"projection": ProjectionMethod.TSNE, "copies": 15, "others": 25}
    one, two = (project_rows(server, 0, np.random.default_rng(1), **said) for _ in range(2))
    np.testing.assert_array_equal(one.others, two.others)
    assert np.isfinite(one.own).all()


def test_histograms_count_every_draw_once():
    server = server_of()
    neuron = Attack().craft(server, np.random.default_rng(1))[0]
    made = value_histogram(server, neuron, 0, np.random.default_rng(1), draws=500, bins=40)
    assert made.own.sum() == pytest.approx(1)
    assert made.others.sum() == pytest.approx(1)
    assert made.own.size == made.edges.size - 1
    active = made.edges[:-1] >= 0
    assert made.own[active].sum() > 0.5 > made.others[active].sum()


def test_zero_is_a_bin_edge_and_inactive():
    edges = _edges(-1.0, 2.0, 7)
    assert 0 in edges
    assert edges[0] <= -1
    assert edges[-1] >= 2
    values = np.array([-1.0, 0.0, 0.0, 2.0])
    assert _shares(values, edges)[edges[:-1] >= 0].sum() == 0.25
    assert _shares(values, edges).sum() == 1


def test_all_zero_values_have_a_bin():
    edges = _edges(0.0, 0.0, 5)
    assert edges.tolist() == [-1.0, 0.0]
    assert _shares(np.zeros(4), edges).tolist() == [1.0]


@pytest.mark.parametrize("said", [{"copies": 0}, {"others": 0}])
def test_rejects_empty_maps(said):
    with pytest.raises(BadInput):
        project_rows(server_of(), 0, np.random.default_rng(1), **said)
