"""Targets that hide one another: what is lost is compared with simulated sums, and with exposure."""

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from leakgauge import api
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.target_overlap import (
    accuracy_lost,
    hide_one_another,
    may_hide,
    noise_variance,
    shares_hidden_by_targets,
)
from leakgauge.mechanisms.laplace import Mechanism as Laplace

PEOPLE, SHARED = 59, 20


@pytest.mark.parametrize("noise", [0.5, 2.0, 8.0])
def test_share_hidden_is_that_of_simulated_sums(noise):
    rng = np.random.default_rng(1)
    targets = (rng.random((6, 30)) < 0.4).astype(np.uint8)
    bits = rng.random((200_000, 6)) < 0.5
    shares = []
    for i in range(6):
        others = np.delete(bits, i, axis=1) @ np.delete(targets, i, axis=0)[:, targets[i] > 0].astype(float)
        hidden = others.sum(axis=1).var()
        shares.append(hidden / (hidden + noise * targets[i].sum()))
    assert shares_hidden_by_targets(csr_array(targets), noise) == pytest.approx(np.array(shares), abs=0.006)


def test_targets_without_common_cells_hide_nobody():
    assert shares_hidden_by_targets(csr_array(np.eye(4, dtype=np.uint8)), 1.0).max() == 0
    assert shares_hidden_by_targets(csr_array(np.ones((1, 300), dtype=np.uint8)), 1.0).max() == 0
    assert shares_hidden_by_targets(csr_array(np.ones((2, 300), dtype=np.uint8)), 0.0).min() == 1


def test_variance_of_noise():
    chain, rng = ReleaseChain(noise=Laplace(epsilon=0.5), group_size=10), np.random.default_rng(1)
    assert noise_variance(chain, rng) == pytest.approx(8.0, rel=0.15)
    assert noise_variance(ReleaseChain(noise=None, group_size=10), rng) == 0


def lost(targets, noise, others=0, n=8_000, *, all_present=False, one=accuracy_lost, **steps):
    rng, table = np.random.default_rng(3), np.array(targets, dtype=np.uint8)
    chain = ReleaseChain(noise=noise, group_size=1000, **steps)
    members = rng.random((n, len(table))) < 0.5
    counts = np.zeros((n, table.shape[1]), dtype=np.int64) + others
    given = (csr_array(table), counts, members, chain, rng)
    if one is accuracy_lost:
        return accuracy_lost(0, *given, all_present=all_present)[0]
    return one(*given, all_present=all_present)


@pytest.mark.parametrize("n_cells", [1, 4])
def test_twins_without_noise_are_told_apart_half_of_the_time(n_cells):
    """A count of one may be either: right in three of four rounds, where a single person always is."""
    assert lost(np.ones((2, n_cells)), None) == pytest.approx(0.25, abs=0.02)


def test_a_cell_of_ones_own_is_enough_without_noise():
    assert lost([[1, 1, 0], [1, 0, 1]], None) == 0


def test_suppressed_cells_of_ones_own_do_not_help():
    """Counts of one are 0: both attackers see a twin only where both are there, right in three of four."""
    assert lost([[1, 1, 0], [1, 0, 1]], None, suppress=1) == pytest.approx(0.0, abs=0.02)
    assert lost([[1], [1]], None, others=1, suppress=1) == pytest.approx(0.25, abs=0.02)
    assert lost([[1, 1, 0], [1, 0, 1]], None, others=5, suppress=8) == 0


def test_a_table_of_everyone_is_compared_with_one_that_counts_all_others():
    """Counts of one are 0: with the other always there, a count is 2 or 0, and an attacker is right."""
    assert lost([[1], [1]], None, suppress=1, all_present=True) == pytest.approx(0.25, abs=0.02)
    assert lost([[1], [1]], None, suppress=1) == pytest.approx(0.0, abs=0.02)


def test_a_couple_among_many_targets_is_found():
    """Two of 28 share their 40 cells: 81.1 % alone and 72.9 % in the run; on average little is lost."""
    targets = np.kron(np.eye(27), np.ones(40))
    targets = np.vstack([targets[:1], targets])
    assert lost(targets, Laplace(epsilon=0.3), n=4_000) == pytest.approx(0.082, abs=0.02)
    assert lost(targets, Laplace(epsilon=0.3), n=4_000, one=hide_one_another)
    assert not lost(targets[1:], Laplace(epsilon=0.3), n=4_000, one=hide_one_another)


def test_a_couple_is_found_where_what_others_share_is_suppressed():
    """Ten pairs share ten cells each, where nobody else is; a couple shares the only one published."""
    pairs = np.hstack([np.kron(np.kron(np.eye(10), np.ones((2, 1))), np.ones(10)), np.zeros((20, 39))])
    couple = np.zeros((2, 139))
    couple[:, 100], couple[0, 101:120], couple[1, 120:] = 1, 1, 1
    targets, others = np.vstack([pairs, couple]), np.zeros(139, dtype=np.int64)
    others[100] = 5
    assert lost(targets, None, others=others, n=2_000, suppress=5, one=hide_one_another)
    assert not lost(targets[:20], None, others=others, n=2_000, suppress=5, one=hide_one_another)


def test_accuracy_lost_is_that_of_simulated_likelihood_ratios():
    """Ten people in the same twenty cells, Laplace noise: ratios written down from the density."""
    n, k, scale, rng = 20_000, 20, 2.0, np.random.default_rng(5)
    bits = rng.random((n, 10)) < 0.5
    noise = rng.laplace(scale=scale, size=(n, k))
    total = bits.sum(axis=1)[:, None] + noise
    alone = (np.abs(noise + bits[:, :1]) - np.abs(noise + bits[:, :1] - 1)).sum(axis=1) / scale
    chances = np.array([1, 9, 36, 84, 126, 126, 84, 36, 9, 1]) / 512
    law = [sum(p * np.exp(-np.abs(total - i - own) / scale) for i, p in enumerate(chances)) for own in (0, 1)]
    hidden = np.log(law[1] / law[0]).sum(axis=1)
    right = [np.mean((score > 0) == bits[:, 0]) for score in (alone, hidden)]
    assert right[0] - right[1] > 0.2
    assert lost(np.ones((10, k)), Laplace(epsilon=0.5), n=2_000) == pytest.approx(
        right[0] - right[1], abs=0.015
    )


def test_values_of_two_count_twice():
    """Alleles: one person adds 2, the other 1; without noise only a sum of 1 or 2 is unclear, never both."""
    assert lost([[2], [1]], None) == 0
    assert lost([[2], [2]], None) == pytest.approx(0.25, abs=0.02)


def test_few_shared_cells_under_usual_noise_lose_nothing():
    targets = np.hstack([np.kron(np.eye(4), np.ones(20)), np.ones((4, 2))]).astype(np.uint8)
    chain = ReleaseChain(noise=Laplace(epsilon=2.0), group_size=1000, round=True)
    assert may_hide(csr_array(targets), chain, np.random.default_rng(1))
    assert lost(targets, Laplace(epsilon=2.0), n=2_000, round=True) < 0.01
    assert not lost(targets, Laplace(epsilon=2.0), n=2_000, round=True, one=hide_one_another)


@pytest.fixture
def audit(tmp_path):
    """An audit of some of ten people in the same cells, with a limit that their exposure exceeds."""
    rng = np.random.default_rng(2)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "row", "column"])
        for person in range(PEOPLE):
            cells = np.arange(SHARED) if person < 10 else rng.choice(np.arange(SHARED, 60), 8, replace=False)
            rows.writerows((f"p{person}", cell // 6, cell % 6) for cell in cells.tolist())

    def run(n_targets):
        names = [f"p{i}" for i in range(n_targets)]
        plan = {
            "seed": 3,
            "limits": {"accuracy": 0.8},
            "audit": [
                {
                    "name": "same-cells",
                    "domain": "locations",
                    "rounds": 600,
                    "block": 300,
                    "attacks": [{"name": "likelihood", "knowledge": "informed"}],
                    "data": {
                        "source": str(tmp_path / "t.csv"),
                        "columns": {"user": "person", "cell": ["row", "column"]},
                    },
                    "mechanism": {"name": "laplace", "epsilon": 0.5, "unit": "event"},
                    "challenger": {"group_size": "everyone", "splits": 2, "targets": {"names": names}},
                }
            ],
        }
        return api.run(plan, out=tmp_path / f"run-{n_targets}")

    return run


def test_targets_who_hide_one_another_clear_nobody(audit, tmp_path):
    """About one of them an attacker is right 85 % of the time, with ten at once 62 %."""
    alone, together = audit(1), audit(10)
    assert alone.summary.exit_code == 1
    assert not any("hide one another" in text for text in alone.summary.warnings)
    found = together[0].metrics["accuracy_own"]
    assert found.high < 0.8 < alone[0].metrics["accuracy_own"].low
    assert together.summary.exit_code == 3
    assert together.summary.risk.status.value == "undecided"
    assert "targets = 1" in together.summary.risk.reason
    (warning,) = (text for text in together.summary.warnings if "hide one another" in text)
    assert warning.startswith("likelihood-informed: in these releases the targets hide one another")
    assert not warning.endswith(".")  # reports add it
    over = together.check({"accuracy": 0.55})
    assert (over.exit_code, [text for text in over.warnings if "hide one another" in text]) == (1, [])
    manifest = json.loads((tmp_path / "run-10" / "manifest.json").read_bytes())
    (facts,) = manifest["facts"].values()
    assert list(facts["understated_knowledge"]) == ["informed", "partial"]
