import numpy as np
import pytest

from domains.queries.log.query_logs import contained, read, sparse, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log import incidence as module


def test_queries_of_a_record_keep_log_order():
    found = sparse(3, 4, [2, 0, 1, 0], [1, 1, 3, 3], [5.0, 6.0, 7.0, 8.0])
    assert found.starts.tolist() == [0, 0, 2, 2, 4]
    assert found.queries.tolist() == [0, 2, 0, 1]
    assert found.contributions.tolist() == [6.0, 5.0, 8.0, 7.0]
    assert found.numbers.tolist() == [0, 2, 0, 2]


def test_duplicate_record_in_query_counts_once():
    found = sparse(2, 3, [0, 0, 0, 1, 1, 1], [2, 0, 2, 0, 1, 1])
    assert found.repeated == 2
    assert found.starts.tolist() == [0, 2, 3, 4]
    assert found.queries.tolist() == [0, 1, 1, 0]


def test_adjacent_records_with_same_query_are_not_merged():
    found = sparse(1, 3, [0, 0], [0, 2])
    assert (found.repeated, found.numbers.tolist()) == (0, [1, 0, 1])


def test_rejects_two_contributions_to_one_query():
    assert sparse(1, 1, [0, 0], [0, 0], [2.0, 2.0]).contributions.tolist() == [2.0]
    with pytest.raises(
        BadInput, match="row 1 of the log: a record contributes two different values to this query; give"
    ):
        sparse(1, 1, [0, 0], [0, 0], [2.0, 3.0])


def test_contribution_of_records_is_that_of_their_pairs():
    rng = np.random.default_rng(7)
    numbers, values = rng.integers(0, 4, 30), rng.normal(size=30)
    of_pairs = np.repeat(values, numbers)
    starts = np.concatenate([[0], np.cumsum(numbers)])
    of_records = module.ContributionOfRecords(values, starts)
    np.testing.assert_array_equal(of_records[:], of_pairs)
    for first, last in rng.integers(0, of_pairs.size + 2, (300, 2)).tolist():
        np.testing.assert_array_equal(of_records[first:last], of_pairs[first:last])


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_blocks_cover_every_record_once(monkeypatch, size):
    monkeypatch.setattr(module, "_BLOCK", size)
    rng = np.random.default_rng(1)
    found = sparse(
        50,
        30,
        np.repeat(np.arange(50), 3),
        rng.permuted(np.tile(np.arange(25), (50, 1)), axis=1)[:, :3].ravel(),
    )
    blocks = list(found.blocks())
    assert [record for block in blocks for record in range(block.start, block.stop)] == list(range(30))


def test_log_without_pairs_keeps_records():
    found = sparse(1, 2, [], [])
    assert found.numbers.tolist() == [0, 0]
    assert [(block.start, block.stop) for block in found.blocks()] == [(0, 2)]


def test_positions_take_four_bytes_each():
    """Eight would double the memory of a dense log."""
    found = sparse(3, 4, [0, 1, 2, 2], [0, 1, 2, 3])
    assert found.queries.dtype == np.int32


def test_dense_and_sparse_predicates_select_the_same_records(tmp_path):
    """Dense ones are kept as bits, sparse ones as positions."""
    rows = "".join(f"{i},{i % 7},{i}\n" for i in range(100))
    table = written(tmp_path, "id,a,b\n" + rows, "people.csv")
    text = "query,where,epsilon\nq1,b >= 20,1\nq2,b = 5,1\nq3,b >= 20,1\nq4,a = 3,1\nq5,b > 1000,1\n"
    log = read(tmp_path, text, data=table)
    by_record = contained(log)
    for i in range(100):
        wanted = [("q1", i >= 20), ("q2", i == 5), ("q3", i >= 20), ("q4", i % 7 == 3)]
        assert by_record[i] == [name for name, inside in wanted if inside]
