import csv

import numpy as np

from leakgauge.core.exposure import AdversaryExposure, Exposure, SpentBudgets
from leakgauge.support import exposure_rows


def of_log(n=3):
    accuracy = np.linspace(0.5, 0.9, n)
    one = AdversaryExposure(
        adversary="informed", basis="b", accuracy=accuracy, auc=accuracy, tpr=accuracy / 2, error=0.0
    )
    top = np.full((n, 2), -1)
    top[-1] = [1, 0]
    top[-2, 0] = 0
    spent = SpentBudgets(
        epsilon=np.arange(n) / 4,
        delta=np.full(n, 1e-5),
        tight=np.arange(n) / 8,
        tight_delta=1e-6,
        queries=np.array(["q,1", "q2"]),
        top=top,
        top_epsilon=np.where(top >= 0, 0.25, 0.0),
    )
    names = np.array([f"r{i}" for i in range(n)])
    return Exposure(names=names, cells=np.arange(n), against=(one,), spent=spent)


def rows(found):
    return list(csv.DictReader(exposure_rows.exposure_csv([("log", found)]).splitlines()))


def test_records_have_their_costliest_queries():
    first, second, last = rows(of_log())
    assert first == {
        "audit": "log",
        "record": "r2",
        "queries": "2",
        "epsilon": "0.5",
        "delta": "1e-05",
        "epsilon_tight": "0.25",
        "delta_tight": "1e-06",
        "informed_accuracy": "0.90000",
        "informed_auc": "0.90000",
        "informed_tpr_at_fpr_0.01": "0.45000",
        "informed_advantage": "0.80000",
        "query_1": "q2",
        "query_1_epsilon": "0.25",
        "query_2": "q,1",
        "query_2_epsilon": "0.25",
    }
    assert (second["query_1"], second["query_2"], second["query_2_epsilon"]) == ("q,1", "", "")
    assert (last["record"], last["query_1"], last["informed_advantage"]) == ("r0", "", "0.00000")


def test_block_rows_are_complete(monkeypatch):
    whole = rows(of_log(20))
    monkeypatch.setattr(exposure_rows, "_BLOCK", 3)
    assert rows(of_log(20)) == whole
    assert [row["record"] for row in whole] == [f"r{i}" for i in reversed(range(20))]


def test_ties_are_sorted_by_spending():
    found = of_log(3)
    flat = np.full(3, 0.5)
    one = AdversaryExposure(adversary="informed", basis="b", accuracy=flat, auc=flat, tpr=flat, error=0.0)
    same = Exposure(names=found.names, cells=found.cells, against=(one,), spent=found.spent)
    assert [row["record"] for row in rows(same)] == ["r2", "r1", "r0"]
