"""Every public call of the package works in a notebook whose kernel has no ipywidgets, as a new one."""

import inspect
from pathlib import Path

import pytest

import leakgauge

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

PREPARED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
sys.modules["ipywidgets"] = None  # importing it fails, whether it is installed or not
from pathlib import Path
import numpy as np
import leakgauge
from domains.models.dp_training.watched_trainings import CLAIM, numpy_loop

data = dict(source="synthetic", users=60, visits=20.0)
challenger = dict(group_size=30, targets=dict(n=2, min_visits=3))
mechanism = dict(name="laplace", epsilon=1.0, round=True)
audit = dict(name="counts", domain="locations", data=data, challenger=challenger, mechanism=mechanism)
audit |= dict(rounds=100, block=50, attacks=[dict(name="likelihood", knowledge="informed")])
plan = dict(seed=1, audit=[audit])
numbers = np.random.default_rng(1)
rows = numbers.normal(size=(60, 3))
Path("log.csv").write_text("query,epsilon,record\\n1,.1,a\\n1,.1,b\\n2,.2,a\\n")
"""
CALLS = {
    "audit_counts": """leakgauge.audit_counts(
        numbers.integers(0, 2, size=(40, 5)), mechanism={"name": "laplace", "epsilon": 1.0}, targets=2,
        attacks=[{"name": "likelihood", "knowledge": "informed"}], rounds=50)""",
    "audit_mechanism": """leakgauge.audit_mechanism(
        lambda rows, rng: len(rows) + rng.laplace(scale=1.0), ([1, 2, 3], [1, 2]), epsilon=1.0,
        rounds=100)""",
    "audit_model": """
    from sklearn.linear_model import LogisticRegression
    labels = rows[:, 0] > 0
    model = LogisticRegression().fit(rows[:30], labels[:30])
    leakgauge.audit_model(model, rows[:30], labels[:30], rows[30:], labels[30:])""",
    "audit_queries": """leakgauge.audit_queries(
        {"id": list(range(40))}, mechanism={"name": "laplace", "epsilon": 0.3}, rounds=50)""",
    "audit_training": "leakgauge.audit_training(numpy_loop(), **CLAIM, rounds=20)",
    "run": 'leakgauge.run(plan, out="run")',
    "bundle": 'leakgauge.bundle("run")',
    "verify": "leakgauge.verify(_.path)",
    "expose": "leakgauge.expose(plan, workers=1)",
    "expose_log": 'leakgauge.expose_log("log.csv")',
    "judge": """leakgauge.judge(numbers.random(200) < 0.5, numbers.random(200), coins="fair")""",
    "reproduce": 'leakgauge.reproduce("humphries23", only="figure_1")',
    "tune": 'leakgauge.tune(plan, limits={"accuracy": 0.9}, rounds=50)',
}


def test_every_public_call_is_here():
    calls = {name for name in leakgauge.__all__ if inspect.isroutine(getattr(leakgauge, name))}
    assert calls == set(CALLS)


def test_public_calls_in_a_kernel_without_ipywidgets(tmp_path):
    """Errors are collected, so that one call that fails does not hide another."""
    cells = [nbformat.v4.new_code_cell(inspect.cleandoc(code)) for code in (PREPARED, *CALLS.values())]
    book = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", resources=resources, allow_errors=True
    )
    client.execute()
    errors = {
        name: f"{output.ename}: {output.evalue}"
        for name, cell in zip(("the first cell", *CALLS), book.cells)
        for output in cell.outputs
        if output.output_type == "error"
    }
    assert not errors, "\n".join(f"{name}: {error}" for name, error in errors.items())
