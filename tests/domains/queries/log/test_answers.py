import numpy as np
import pytest

from domains.queries.log.query_logs import read
from leakgauge.core.errors import BadInput
from leakgauge.theory import gdp


def noise(tmp_path, columns, values):
    log = read(tmp_path, f"query,records,{columns}\n1,a,{values}\n").answers
    return log.name_of(0), float(log.scale[0])


@pytest.mark.parametrize(
    ("columns", "values", "expected"),
    [
        ("epsilon", "0.5", ("laplace", 2.0)),
        ("scale", "4", ("laplace", 4.0)),
        ("mechanism,epsilon", "Geometric,0.5", ("geometric", 2.0)),
        ("sigma", "3", ("gaussian", 3.0)),
        ("mechanism,scale", "gaussian,3", ("gaussian", 3.0)),
        ("mechanism,kind,bound,epsilon", "laplace,sum,10,0.5", ("laplace", 20.0)),
        ("epsilon,scale", "0.5,4", ("laplace", 4.0)),
        ("mechanism,epsilon", "logistic,0.5", ("logistic", 2.0)),
        ("mechanism,sigma", "discrete_gaussian,3", ("discrete_gaussian", 3.0)),
    ],
)
def test_noise_scale_comes_from_row(tmp_path, columns, values, expected):
    assert noise(tmp_path, columns, values) == expected


def test_gaussian_noise_follows_from_epsilon_and_delta(tmp_path):
    found, sigma = noise(tmp_path, "mechanism,kind,bound,epsilon,delta", "gaussian,sum,10,1,1e-6")
    assert found == "gaussian"
    assert gdp.delta_at(10 / sigma, 1.0) == pytest.approx(1e-6, rel=1e-6)


def test_mismatching_epsilon_and_scale_are_counted(tmp_path):
    rows = "1,a,0.5,2\n2,a,0.5,4\n3,a,,4\n"
    notes = read(tmp_path, "query,records,epsilon,scale\n" + rows).notes
    assert any("scale does not match their epsilon" in note and note.endswith(": 1.") for note in notes)


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        ("epsilon", "-1", "epsilon = -1.0: must be > 0"),
        ("epsilon", "0", "must be > 0"),
        ("epsilon", "nan", "must be > 0"),
        ("epsilon", "inf", "must be > 0 and finite"),
        ("scale", "-2", "scale = -2.0"),
        ("scale", "1e-300", "gives no protection"),
        ("epsilon", "1e12", "epsilon = 1000000000000.0: gives no protection"),
        ("epsilon", "", "is missing"),
        ("mechanism,epsilon", "cauchy,1", "mechanism = cauchy: known: .*laplace"),
        ("mechanism,epsilon", "ome,1", "mechanism = ome: known: discrete_gaussian, gaussian"),
        ("mechanism,epsilon", "gaussian,1", "of gaussian noise needs delta"),
        ("mechanism,epsilon", "discrete_gaussian,1", "of discrete_gaussian noise needs delta"),
        ("mechanism,sigma", "logistic,1", "is for discrete_gaussian, gaussian noise"),
        ("mechanism,kind,bound,sigma", "discrete_gaussian,sum,2.5,1", "under discrete_gaussian noise"),
        ("mechanism,epsilon,delta", "gaussian,1,1", r"delta = 1.0: must be in \(0, 1\)"),
        ("mechanism,sigma", "laplace,1", "is for discrete_gaussian, gaussian noise"),
        ("kind,epsilon", "mean,1", "kind = mean: known: count, sum"),
        ("kind,epsilon", "sum,1", "needs a bound"),
        ("bound,epsilon", "5,1", "a count has none"),
        ("mechanism,kind,bound,epsilon", "geometric,sum,2.5,1", "whole number"),
        ("mechanism,kind,bound,epsilon", "geometric,sum,1e9,1", "use larger units"),
    ],
)
def test_rejects_invalid_noise_with_row_number(tmp_path, columns, values, message):
    with pytest.raises(BadInput, match=rf"log.csv, row 1: .*{message}"):
        noise(tmp_path, columns, values)


def test_geometric_noise_needs_integer_contributions(tmp_path):
    (tmp_path / "pairs.csv").write_text("query,record,contribution\n1,a,1.5\n")
    with pytest.raises(BadInput, match=r"row 1, contribution of a record: geometric"):
        read(
            tmp_path,
            "query,mechanism,kind,bound,epsilon\n1,geometric,sum,5,1\n",
            contains=tmp_path / "pairs.csv",
        )


def test_scales_are_per_row(tmp_path):
    rng = np.random.default_rng(1)
    epsilons = rng.uniform(0.01, 2, 50)
    rows = "".join(f"{i},a,{float(epsilon)!r}\n" for i, epsilon in enumerate(epsilons))
    found = read(tmp_path, "query,records,epsilon\n" + rows).answers
    np.testing.assert_allclose(found.scale, 1 / epsilons)
