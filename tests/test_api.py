import re
import subprocess
import sys
import tomllib
from dataclasses import fields, is_dataclass, replace
from inspect import getdoc
from pathlib import Path
from pkgutil import resolve_name

import pytest

import leakgauge
from leakgauge import api
from leakgauge.core.errors import BadInput
from leakgauge.plan import read_plan

PLAN = """
seed = 7
[[audit]]
name = "coin"
domain = "coin"
rounds = 100
block = 50
challenger = { promised = 1.0 }
"""


@pytest.fixture(autouse=True)
def _coins(monkeypatch, tmp_path):
    import leakgauge.domains

    domains = Path(__file__).parent / "runner" / "domains"
    monkeypatch.setattr(leakgauge.domains, "__path__", [*leakgauge.domains.__path__, str(domains)])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)


def test_public_names_work_and_have_docstrings():
    assert {"run", "expose", "expose_log", "Plan", "Verdict", "Finding", "Estimate", "BadInput"} <= set(
        leakgauge.__all__
    )
    for name in leakgauge.__all__:
        assert name in dir(leakgauge)
        assert name == "__version__" or getattr(leakgauge, name).__doc__
    with pytest.raises(AttributeError, match="has no attribute 'fly'"):
        leakgauge.fly  # noqa: B018


def documented():
    """Everything that the page of the API shows, by its full name."""
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    names = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    return {name: resolve_name(":".join(name.rsplit(".", 1))) for name in names}


def test_api_page_lists_public_names():
    public = {f"leakgauge.{name}" for name in leakgauge.__all__} - {"leakgauge.__version__"}
    assert public <= set(documented())


def test_public_fields_are_documented():
    values = {name: value for name, value in documented().items() if is_dataclass(value)}
    assert {"leakgauge.Plan", "leakgauge.Verdict", "leakgauge.Estimate"} <= set(values)
    for name, value in values.items():
        for field in fields(value):
            if not field.name.startswith("_"):
                assert f"\n    {field.name}: " in getdoc(value), (name, field.name)


def test_import_loads_no_heavy_library():
    code = "import sys, leakgauge; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"numpy", "scipy", "leakgauge.plan", "leakgauge.runner"}.isdisjoint(loaded)


def test_no_module_hides_a_public_function():
    root = Path(leakgauge.__file__).parent
    for verb in leakgauge.__all__:
        assert not (root / f"{verb}.py").exists()
        assert not (root / verb).exists()


def test_runs_a_plan_file_and_writes_report(tmp_path):
    [verdict] = leakgauge.run("plan.toml")
    assert verdict.finding == "not violated"
    assert {path.name for path in (tmp_path / "runs" / tmp_path.name).iterdir()} == {
        "audits",
        "lock",
        "manifest.json",
        "plan.toml",
        "report.html",
        "verdicts.json",
    }


def test_runs_a_plan_object(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    plan = replace(read_plan("plan.toml"), path=None, text=None)
    [from_value] = leakgauge.run(plan, out="value", seed=9)
    [from_file] = leakgauge.run("plan.toml", out=tmp_path / "file", seed=9)
    assert from_value == from_file
    assert from_file.seed == 9
    leakgauge.run(plan)
    assert (tmp_path / "runs" / "plan" / "verdicts.json").exists()
    with pytest.raises(BadInput, match="seed must be a whole number in 0"):
        leakgauge.run(plan, seed=-1)


def test_runs_a_dict(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    from_file = leakgauge.run("plan.toml", out="file")
    table = tomllib.loads(PLAN)
    assert leakgauge.run(table) == from_file
    assert (tmp_path / "runs" / "plan" / "verdicts.json").exists()
    [other] = leakgauge.run(table, out="other", seed=9)
    assert other.seed == 9
    [audit] = table["audit"]
    audit["rounds"] = 150  # more rounds of the same trials continue a run
    [longer] = leakgauge.run(table)
    assert longer.rounds == 150
    audit["round"] = 1
    with pytest.raises(
        BadInput, match=r"^plan: audit 'coin': no key is called 'round'; did you mean 'rounds'"
    ):
        leakgauge.run(table)


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("my-plan.toml", "runs/my-plan"),
        ("city/my-plan.toml", "runs/my-plan"),
        ("city/plan.toml", "runs/city"),
        ("city/inner/../plan.toml", "runs/city"),
        ("/plan.toml", "runs/plan"),
    ],
)
def test_run_folder_is_named_after_plan_or_its_folder(path, folder):
    plan = replace(read_plan("plan.toml"), path=Path(path))
    assert api.default_folder(plan) == Path(folder)


def test_python_values_are_kept_out_of_verdicts_and_report(tmp_path):
    (tmp_path / "plan.toml").write_text(
        '# patient Anna Schmidt\n[[audit]]\nname = "a"\ndomain = "blackbox"\nrounds = 100\n'
        'mechanism = { name = "laplace", epsilon = 1.0 }\n'
        "challenger = { pair = [[73219, 5], [73220, 5]] }\nattacks = ['one_threshold']\n"
    )
    leakgauge.run(tmp_path / "plan.toml", out=tmp_path / "out")
    for name in ("verdicts.json", "report.html"):
        text = (tmp_path / "out" / name).read_text()
        assert "73219" not in text
        assert "Anna" not in text


def test_too_few_rounds_for_both_classes_are_undecided(tmp_path):
    (tmp_path / "plan.toml").write_text(
        '[[audit]]\nname = "a"\ndomain = "blackbox"\nrounds = 1\n'
        'mechanism = { name = "laplace", epsilon = 1.0 }\n'
        "challenger = { pair = [0, 1] }\nattacks = ['one_threshold']\n"
    )
    (verdict,) = leakgauge.run(tmp_path / "plan.toml", out=tmp_path / "out")
    assert verdict.finding == "undecided"
    assert verdict.roc == {"fpr": [], "tpr": []}
    assert (tmp_path / "out" / "report.html").exists()


def test_reading_a_run_loads_no_library_that_only_an_audit_needs():
    """`report`, `show` and `gate` read finished numbers; these libraries take longer to load than that."""
    code = (
        "import sys, leakgauge.api\n"
        "from leakgauge.report.charts.roc import CHANCE_CURVE, roc_chart\n"
        "roc_chart('roc', [CHANCE_CURVE], log=True, caption='', alternative='')\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "leakgauge.verdict" in loaded.split()
    assert {"scipy.fft", "scipy.stats", "scipy.optimize", "altair", "torch"}.isdisjoint(loaded.split())
