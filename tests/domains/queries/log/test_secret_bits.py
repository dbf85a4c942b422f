import json

import numpy as np
import pytest
from scipy.stats import norm

from leakgauge import expose_log
from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from night import others_at_night

N_RECORDS, N_ANSWERS = 32, 128


@pytest.fixture
def table(tmp_path):
    """A table with one attribute and a secret bit, and its bits."""
    rng = np.random.default_rng(1)
    bits = rng.random(N_RECORDS) < 0.4
    rows = [f"{i},{20 + i % 50},{int(bit)}" for i, bit in enumerate(bits)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["id,age,ill", *rows]) + "\n")
    return path, bits


def write_log(folder, rows, columns="query,where,kind,column,bound,mechanism,scale,sigma,answer"):
    path = folder / "log.tsv"
    path.write_text(
        "\n".join(["\t".join(columns.split(",")), *("\t".join(map(str, row)) for row in rows)]) + "\n"
    )
    return path


def subset_questions(bits, n, draw, how):
    """Questions about random sets: counts with the secret in the predicate, or sums of the secret."""
    rng = np.random.default_rng(2)
    rows = []
    for q in range(n):
        chosen = np.flatnonzero(rng.random(N_RECORDS) < 0.5)
        ids, noisy = ", ".join(map(str, chosen)), bits[chosen].sum() + draw(rng)
        match how:
            case "count":
                rows.append((q, f"ill = 1 AND id IN ({ids})", "count", "", "", *NOISE[draw], noisy))
            case "not":
                others = chosen.size - bits[chosen].sum() + draw(rng)
                rows.append((q, f"ill = 0 AND id IN ({ids})", "count", "", "", *NOISE[draw], others))
            case "sum":
                rows.append((q, f"id IN ({ids})", "sum", "ill", 1, *NOISE[draw], noisy))
    return rows


def laplace(rng):
    return rng.laplace()


def gaussian(rng):
    return rng.normal(scale=2.0)


NOISE = {laplace: ("laplace", 1, ""), gaussian: ("gaussian", "", 2)}


@pytest.mark.parametrize(
    ("how", "draw"),
    others_at_night(
        [(how, draw) for how in ("count", "not", "sum") for draw in (laplace, gaussian)],
        ("count", laplace),
        ("sum", gaussian),
    ),
)
def test_bits_are_recovered_as_well_as_theory_expects(tmp_path, table, how, draw):
    path, bits = table
    log = write_log(tmp_path, subset_questions(bits, N_ANSWERS, draw, how))
    found = expose_log(log, data=path, secret="ill").exposure.secret_bits
    # Each of 128 answers holds a bit in half of the cases: the estimate has about the variance 4 s^2 / 128.
    near = norm.cdf(0.5 / np.sqrt(4 * (2.0 if draw is laplace else 4.0) / (N_ANSWERS - N_RECORDS)))
    spread = 3 * np.sqrt(near * (1 - near) / N_RECORDS)
    assert found["least_squares_expected"] == pytest.approx(near, abs=0.02)
    assert found["least_squares"] == pytest.approx(near, abs=spread)
    assert found["linear_program"] == pytest.approx(near, abs=spread + 0.02)
    assert found["allowed"] >= found["least_squares_expected"]
    assert found["most_common"] == pytest.approx(max(bits.mean(), 1 - bits.mean()))
    assert (found["records"], found["answers"]) == (N_RECORDS, N_ANSWERS)


def test_best_attack_on_a_bit_is_that_of_the_noise(tmp_path, table):
    path, _ = table
    row = (0, "ill = 1 AND id IN (3)", "count", "", "", "laplace", 1, "", 0.7)
    found = expose_log(write_log(tmp_path, [row]), data=path, secret="ill").exposure.secret_bits
    assert found["allowed"] == pytest.approx(
        1 - np.exp(-0.5) / 2, abs=1e-4
    )  # of Laplace noise, in closed form
    assert found["records"] == 1


def test_a_log_about_other_columns_reveals_no_secret(tmp_path, table):
    path, _ = table
    row = (0, "age > 30", "count", "", "", "laplace", 1, "", 40.3)
    found = expose_log(write_log(tmp_path, [row]), data=path, secret="ill").exposure.secret_bits
    assert found["records"] == 0
    assert "No predicate and no sum of the log names" in found["sentences"][0]


def test_answers_that_were_not_kept_are_left_out(tmp_path, table):
    path, bits = table
    rows = subset_questions(bits, 30, laplace, "sum")
    rows[0] = (*rows[0][:-1], "")
    found = expose_log(write_log(tmp_path, rows), data=path, secret="ill").exposure.secret_bits
    assert found["answers"] == 29


def test_many_records_are_solved_without_a_prediction(tmp_path, table, monkeypatch):
    path, bits = table
    log = write_log(tmp_path, subset_questions(bits, N_ANSWERS, laplace, "sum"))
    exact = expose_log(log, data=path, secret="ill").exposure.secret_bits
    monkeypatch.setattr("leakgauge.domains.queries.log.secret_bits._MOST_STEPS", 0)
    found = expose_log(log, data=path, secret="ill").exposure.secret_bits
    assert found["least_squares"] == exact["least_squares"]
    assert found["least_squares_expected"] is found["linear_program"] is None


def test_result_is_printed_and_in_json(tmp_path, table, capsys):
    path, bits = table
    log = write_log(tmp_path, subset_questions(bits, 40, laplace, "count"))
    command = ["expose", "--query-log", str(log), "--data", str(path), "--out", str(tmp_path / "out")]
    assert main([*command, "--secret", "ill"]) == 0
    said = json.loads((tmp_path / "out" / "exposure.json").read_text())["audits"][0]["secret_bits"]
    assert said["sentences"][0] in capsys.readouterr().out
    assert said["sentences"][1] in (tmp_path / "out" / "exposure.html").read_text()
    assert main(command) == 0
    assert "The column answer of the log is not used" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("secret", "message"),
    [("weight", "the table has no column 'weight'"), ("age", "'age' has 32 different values")],
)
def test_refuses_other_secrets(tmp_path, table, secret, message):
    path, bits = table
    with pytest.raises(BadInput, match=message):
        expose_log(write_log(tmp_path, subset_questions(bits, 5, laplace, "sum")), data=path, secret=secret)


def test_refuses_a_log_without_answers_or_table(tmp_path, table):
    path, bits = table
    rows = [row[:-1] for row in subset_questions(bits, 5, laplace, "sum")]
    log = write_log(tmp_path, rows, "query,where,kind,column,bound,mechanism,scale,sigma")
    with pytest.raises(BadInput, match="no column is called 'answer'"):
        expose_log(log, data=path, secret="ill")
    with pytest.raises(BadInput, match="secret: is a column of the table"):
        expose_log(log, secret="ill")
    full = write_log(tmp_path, [(*rows[0], "many")])
    with pytest.raises(BadInput, match="answer is not a number"):
        expose_log(full, data=path, secret="ill")
