import numpy as np
import pytest
from scipy.special import ndtr

import leakgauge
from domains.queries.log.query_logs import RECORDS, written
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries import DOMAIN
from leakgauge.domains.queries.log.exposure import expose_query_log
from leakgauge.domains.queries.log.files import QueryLogFiles
from leakgauge.theory import gdp


def test_exposure_of_each_record_follows_from_its_answers(tmp_path):
    table = written(tmp_path, RECORDS, "people.csv")
    log = written(tmp_path, "query,records,epsilon,sigma\na,1;2,0.3,\nb,2,,2\nc,2,1,\nd,4,0.3,\n")
    steps = []
    found = expose_query_log(QueryLogFiles(log, data=table), begin=steps.append)
    (informed,) = found.against
    assert tuple(steps) == DOMAIN.log_exposure.steps
    assert found.names.tolist() == ["1", "2", "3", "4"]
    assert found.cells.tolist() == [1, 3, 0, 1]
    assert informed.accuracy[[0, 2, 3]] == pytest.approx(
        [1 - np.exp(-0.15) / 2, 0.5, 1 - np.exp(-0.15) / 2], abs=1e-5
    )
    assert (informed.auc[2], informed.tpr[2], found.spent.epsilon[2]) == (0.5, 0.01, 0.0)
    assert informed.accuracy[1] > max(1 - np.exp(-0.5) / 2, ndtr(0.25))
    assert found.spent.epsilon[1] == pytest.approx(1.3 + gdp.epsilon_at(0.5, 1e-5), rel=1e-9)
    assert found.spent.delta.tolist() == [0.0, 1e-5, 0.0, 0.0]
    assert found.spent.queries[found.spent.top[1]].tolist() == ["b", "c", "a"]
    assert found.order[0] == 1
    assert any("fresh noise" in note for note in found.notes)


def test_mixed_scales_match_simulation(tmp_path):
    log = written(tmp_path, "query,records,scale,sigma\n1,x,4,\n2,x,2,\n3,x,,3\n4,x,1.5,\n5,x,4,\n")
    (informed,) = expose_query_log(QueryLogFiles(log)).against
    rng = np.random.default_rng(7)
    scales, n = np.array([4.0, 2.0, 1.5, 4.0]), 400_000
    noise = rng.laplace(size=(n, 4)) * scales
    loss = ((np.abs(noise + 1) - np.abs(noise)) / scales).sum(axis=1)
    loss += (1 / 3) * rng.standard_normal(n) + 1 / 18  # of a Gaussian answer: N(mu^2 / 2, mu^2)
    assert informed.accuracy[0] == pytest.approx((loss > 0).mean(), abs=0.003)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, float("nan")])
def test_rejects_invalid_delta(tmp_path, delta):
    with pytest.raises(BadInput, match="delta must be in"):
        expose_query_log(QueryLogFiles(written(tmp_path, "query,records,epsilon\n1,a,1\n")), delta=delta)


@pytest.mark.nightly
def test_many_small_answers_are_composed_as_by_an_independent_accountant(tmp_path):
    from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

    n, epsilon = 3331, 0.015
    log = tmp_path / "log.csv"
    rows = [f"q{i},ann,laplace,{epsilon}" for i in range(n)]
    log.write_text("\n".join(["query,records,mechanism,epsilon", *rows]) + "\n")
    found = leakgauge.expose_log(log, delta=1e-6).exposure
    loss = from_laplace_mechanism(1 / epsilon, value_discretization_interval=1e-4).self_compose(n)
    assert found.spent.epsilon[0] == pytest.approx(49.965)
    assert found.spent.tight[0] == pytest.approx(loss.get_epsilon_for_delta(1e-6), abs=1e-4)  # 4.136
    assert found.against[0].accuracy[0] == pytest.approx(0.667, abs=1e-3)


@pytest.mark.parametrize("mechanism", ["laplace", "geometric", "gaussian", "discrete_gaussian"])
def test_values_of_records_give_what_values_of_pairs_give(tmp_path, mechanism):
    """The same sums of one column, with values from the table and written for each pair."""
    rng = np.random.default_rng(8)
    values = rng.integers(-9, 10, 40)
    rows = "".join(f"r{i:02},{value}\n" for i, value in enumerate(values))
    table = written(tmp_path, "id,income\n" + rows, "people.csv")
    noise = "sigma" if "gaussian" in mechanism else "epsilon"
    head = f"query,kind,column,bound,mechanism,{noise}"
    chosen = [np.flatnonzero(rng.random(40) < 0.4) for _ in range(60)]
    answers = [f"{i},sum,income,9,{mechanism},{20 if noise == 'sigma' else 0.2}" for i in range(60)]
    names = [";".join(f"r{record:02}" for record in some) for some in chosen]
    lists = [f"{answer},{some}" for answer, some in zip(answers, names, strict=True)]
    by_table = written(tmp_path, "\n".join([f"{head},records", *lists]) + "\n", "lists.csv")
    pairs = [f"{i},r{record:02},{values[record]}" for i, some in enumerate(chosen) for record in some]
    by_pair = written(tmp_path, "\n".join([head, *answers]) + "\n", "answers.csv")
    contains = written(tmp_path, "\n".join(["query,record,contribution", *pairs]) + "\n", "pairs.csv")
    found = [
        expose_query_log(QueryLogFiles(by_table, data=table)),
        expose_query_log(QueryLogFiles(by_pair, contains=contains)),
    ]
    (one,), (other,) = (exposure.against for exposure in found)
    assert found[0].names.tolist() == found[1].names.tolist()
    for name in ("accuracy", "auc", "tpr"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.accuracy.max() > 0.6
