"""The utility of published counts, against loops over cells and closed forms of the noise."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from leakgauge.domains.locations import DOMAIN
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.utility import counts_utility, n_utility_draws
from leakgauge.exposure import AuditExposure, summarise
from leakgauge.report.sections.risk_utility import utility_sentence


def cell_map(n_places, n_epochs):
    return CellMap(n_places, n_epochs, np.zeros(n_epochs, dtype=np.int64))


def by_loops(true, published, n_places, n_epochs, suppresses):
    """The definitions, cell by cell, of one release."""
    cells = [(int(c), float(y)) for c, y in zip(true, published, strict=True)]
    lost = [suppresses and y == 0 and c > 0 for c, y in cells]
    visited = [(c, y) for c, y in cells if c > 0]
    total = sum(c for c, _ in cells)

    def distance(sums):
        ours, theirs = ([sum(part) for part in side] for side in sums)
        theirs = [max(value, 0.0) for value in theirs]
        return sum(abs(a / sum(ours) - b / sum(theirs)) for a, b in zip(ours, theirs)) / 2

    rows = [[side[p * n_epochs : (p + 1) * n_epochs] for p in range(n_places)] for side in (true, published)]
    columns = [[side[e::n_epochs] for e in range(n_epochs)] for side in (true, published)]
    n_top = 20 if n_places >= 40 else n_places // 2
    tops = [set(sorted(range(n_places), key=lambda p: (-sum(side[p]), p))[:n_top]) for side in rows]
    return {
        "mean_absolute_error": sum(abs(c - y) for c, y in cells) / len(cells),
        "relative_error": sum(abs(c - y) / c for c, y in visited) / len(visited),
        "visits_published": sum(c for (c, _), gone in zip(cells, lost) if not gone) / total,
        "cells_suppressed": sum(lost) / len(visited),
        "top_places": len(tops[0] & tops[1]) / n_top,
        "space_distance": distance(rows),
        "time_distance": distance(columns),
    }


@pytest.mark.parametrize(
    ("n_places", "suppresses", "least"), [(6, True, 0), (6, False, 0), (6, False, -np.inf), (45, True, 0)]
)
def test_numbers_match_loops_over_cells(n_places, suppresses, least):
    rng, n_epochs = np.random.default_rng(3), 4
    true = rng.poisson(1.5, (5, n_places * n_epochs))
    published = np.maximum(np.round(true + rng.laplace(0, 2, true.shape)), least)
    published[(published <= 1) & (published >= 0)] = 0
    found = counts_utility(true, published, cell_map(n_places, n_epochs), suppresses=suppresses)
    rows = [by_loops(*row, n_places, n_epochs, suppresses) for row in zip(true, published, strict=True)]
    assert set(found) < set(DOMAIN.utility)
    kept = [
        (c, y) for ours, theirs in zip(true, published) for c, y in zip(ours, theirs) if not suppresses or y
    ]
    assert found.pop("typical_error") == pytest.approx(sum(abs(c - y) for c, y in kept) / len(kept))
    usual = sum(c for c, _ in kept) / len(kept)
    assert found.pop("largest_useful_error") == pytest.approx(usual / 2 if suppresses else usual)
    for name, value in found.items():
        assert value == pytest.approx(np.mean([row[name] for row in rows]))


@pytest.mark.parametrize(
    ("n_columns", "names"),
    [(1, {"top_cells", "cell_distance"}), (4, {"top_rows", "row_distance", "column_distance"})],
)
def test_a_table_without_times_is_described_in_its_own_words(n_columns, names):
    rng, days = np.random.default_rng(3), np.zeros(n_columns, dtype=np.int64)
    true = rng.poisson(1.5, (5, 6 * n_columns))
    published = true + rng.laplace(0, 2, true.shape)
    cells = CellMap(6, n_columns, days, timed=False)
    found = counts_utility(true, published, cells, suppresses=True)
    common = {"mean_absolute_error", "relative_error", "cells_suppressed"}
    common |= {"typical_error", "largest_useful_error"}
    assert set(found) == common | {"counts_published"} | names
    timed = counts_utility(true, published, cell_map(6, n_columns), suppresses=True)
    assert list(found.values()) == list(timed.values())[: len(found)]
    said = utility_sentence("locations", found)
    assert len(re.findall(r"\d%|\d\.\d", said)) >= len(found) - 2  # all but those that only tune says
    assert not re.search("visit|place|epoch", said)


def test_published_truth_is_perfect():
    true = np.random.default_rng(1).poisson(2.0, (3, 200))
    found = counts_utility(true, true.astype(float), cell_map(50, 4), suppresses=False)
    assert found == {
        "mean_absolute_error": 0.0,
        "typical_error": 0.0,
        "largest_useful_error": pytest.approx(true.mean()),
        "relative_error": 0.0,
        "visits_published": 1.0,
        "cells_suppressed": 0.0,
        "top_places": 1.0,
        "space_distance": 0.0,
        "time_distance": 0.0,
    }


def test_nothing_published_has_nothing_in_common():
    true = np.zeros((1, 8), dtype=np.int64)
    true[0, :2] = 5
    found = counts_utility(true, np.zeros((1, 8)), cell_map(4, 2), suppresses=True)
    assert (found["visits_published"], found["cells_suppressed"], found["relative_error"]) == (0.0, 1.0, 1.0)
    assert (found["typical_error"], found["largest_useful_error"]) == (pytest.approx(10 / 8), 0.0)
    assert found["space_distance"] == pytest.approx(0.75)  # one place in truth, even shares of four
    assert counts_utility(true * 0, np.zeros((1, 8)), cell_map(4, 2), suppresses=True) == {
        "mean_absolute_error": 0.0
    }


def made(**mechanism):
    return build(
        data={"users": 600, "sites": 50, "epochs": 24},
        challenger={"group_size": 200, "targets": 2},
        mechanism=mechanism,
        folder=Path(),
        seed=7,
    )


@pytest.mark.parametrize(
    ("mechanism", "error"),
    [
        ({"name": "laplace", "scale": 2.0}, 2.0),  # mean |Laplace(b)| = b
        ({"name": "gaussian", "sigma": 1.5, "delta": 1e-6}, 1.5 * (2 / np.pi) ** 0.5),
        ({"name": "geometric", "epsilon": 0.5}, 1 / np.sinh(0.5)),  # 2a / (1 - a^2), a = e^-epsilon
        ({"name": "raw"}, 0.0),
    ],
    ids=["laplace", "gaussian", "geometric", "raw"],
)
def test_error_of_noise_has_its_closed_form(mechanism, error):
    """Of 24,000 counts; the tolerance is more than four standard errors."""
    found = made(**mechanism).utility
    assert n_utility_draws(1200, own_pipeline=False) * 1200 == 24_000
    assert found["mean_absolute_error"] == pytest.approx(error, rel=0.03)
    assert (found["visits_published"], found["cells_suppressed"]) == (1.0, 0.0)


def test_suppressed_raw_counts_are_the_small_ones():
    """Without noise, what is lost is the visits in cells with one or two people."""
    challenger = made(name="raw", suppress=2)
    members = np.ones((n_utility_draws(1200, own_pipeline=False), 2), dtype=bool)
    from leakgauge.core.randomness import Role, stream
    from leakgauge.domains.locations.challenger import UTILITY

    true = challenger.release(members, stream(7, Role.DATA, UTILITY)).rounds.counts()
    small = (true > 0) & (true <= 2)
    lost = (true * small).sum(axis=1) / true.sum(axis=1)
    assert challenger.utility["visits_published"] == pytest.approx(1 - lost.mean())
    assert challenger.utility["cells_suppressed"] == pytest.approx(np.mean(small.sum(1) / (true > 0).sum(1)))


@pytest.mark.parametrize("size", [200, "everyone"])
def test_visits_that_caps_drop_are_errors(size):
    """Raw counts with a cap are off by the visits that were dropped, and by nothing else."""
    from leakgauge.domains.locations.data.data_loader import load_visits

    data = {"users": 600, "sites": 50, "epochs": 24}
    challenger = build(
        data=data,
        challenger={"group_size": size, "splits": 1, "targets": 2, "per_user": 3},
        mechanism={"name": "raw"},
        folder=Path(),
        seed=7,
    )
    every = load_visits(data, Path(), 7).traces.n_visits
    dropped = np.maximum(every - 3, 0)
    others = challenger.people.pool
    expected = dropped[challenger.people.targets].sum() + (
        dropped[others].sum() if size == "everyone" else 198 * dropped[others].mean()
    )
    exact = size == "everyone"
    assert challenger.utility["mean_absolute_error"] * 1200 == pytest.approx(
        expected, rel=1e-9 if exact else 0.05
    )
    assert pickle.loads(pickle.dumps(challenger)).uncapped is None


def test_less_noise_is_more_useful():
    loud, quiet = (made(name="laplace", epsilon=epsilon).utility for epsilon in (0.2, 5.0))
    for name, term in ((name, DOMAIN.utility[name]) for name in quiet):
        better, worse = (quiet[name], loud[name]) if term.lower_is_better else (loud[name], quiet[name])
        assert better <= worse


def test_exposure_states_the_utility_of_the_same_release():
    from leakgauge.domains.locations.exposure import expose

    challenger = made(name="laplace", epsilon=1.0)
    exposed = expose(challenger, ("informed",))
    (audit,) = summarise([AuditExposure("city", "locations", exposed)])["audits"]
    assert json.loads(json.dumps(audit))["utility"] == challenger.utility


def test_own_pipelines_are_called_once():
    assert n_utility_draws(100, own_pipeline=True) == 1
    assert n_utility_draws(10**9, own_pipeline=False) == 1
