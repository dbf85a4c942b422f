import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import leakgauge
from leakgauge.plan import plan_of, read_plan
from leakgauge.runner import code_digest

EXAMPLES = Path(__file__).parents[2] / "examples"


def audits(domain="blackbox", mechanism="laplace"):
    table = {
        "name": "a",
        "domain": domain,
        "mechanism": {"name": mechanism, "epsilon": 1.0},
        "challenger": {"pair": [0, 1]},
        "attacks": ["one_threshold"],
    }
    return plan_of({"audit": [table]}).audits


def test_covers_domain_what_it_uses_and_runner():
    found = set(code_digest.code_digests(audits()))
    assert {
        "catalog.py",
        "plan.py",
        "core/game.py",
        "core/randomness.py",
        "domains/blackbox/__init__.py",
        "domains/blackbox/challenger.py",
        "domains/blackbox/attacks/one_threshold.py",
        "mechanisms/laplace.py",
        "referee/metrics/auc.py",
        "runner/block_store.py",
        "runner/play_block.py",
        "support/threads.py",
    } <= found
    ours = {path.relative_to(code_digest.ROOT).as_posix() for path in code_digest.ROOT.rglob("*.py")}
    assert found <= ours


def test_code_that_decides_no_trial_is_not_covered():
    found = code_digest.code_digests(audits())
    for folder in (
        "report/",
        "cli/",
        "papers/",
        "domains/locations/",
        "domains/queries/",
    ):
        assert not [path for path in found if path.startswith(folder)], folder
    for file in ("api.py", "verdict.py", "exposure.py", "__init__.py", "version.py", "runner/run.py"):
        assert file not in found, file


def test_several_domains_are_covered_together():
    [one] = audits()
    other = replace(one, domain="coin")
    both = code_digest.code_digests([one, other])
    assert both == code_digest.code_digests([one]) | code_digest.code_digests([other])
    assert {"domains/coin/challenger.py", "domains/blackbox/challenger.py"} <= set(both)


def test_removed_domain_has_no_files():
    [one] = audits()
    found = code_digest.code_digests([replace(one, domain="gone")])
    assert "core/game.py" in found
    assert not [path for path in found if path.startswith("domains/gone")]


LOADED = """
import json, sys
from leakgauge.mechanisms import mechanism_class, mechanism_names
for name in mechanism_names():
    mechanism_class(name)  # a domain looks at all of them to list those that fit, and uses one
before = set(sys.modules)
from leakgauge.catalog import prepare_audit
from leakgauge.plan import read_plan
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.play_block import study_attacks
plan = read_plan(sys.argv[1])
game = prepare_audit(plan.audits[0], plan)
study_attacks(game, plan.seed, InProcessEngine())(RoundBlock(0, range(int(sys.argv[2]))))
print(json.dumps([name for name in {*sys.modules} - before if name.startswith("leakgauge.")]))
"""


@pytest.mark.parametrize(
    ("example", "rounds"), [("laplace-sweep", 4), ("own-model", 1), ("query-service", 4)]
)
def test_every_loaded_module_is_covered(example, rounds):
    plan = EXAMPLES / example / "plan.toml"
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(plan), str(rounds)], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout)) - {
        "leakgauge.version",
        "leakgauge.limits",  # it judges trials, and decides none
        "leakgauge.referee",
        "leakgauge.referee.metrics",  # to list the names that a plan may use
    }
    assert {"leakgauge.catalog", "leakgauge.runner.play_block"} <= loaded
    covered = code_digest.code_digests(read_plan(plan).audits)
    names = {path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in covered}
    packages = {"leakgauge.runner", "leakgauge.domains"}  # which hold no code
    assert loaded - packages <= {f"leakgauge.{name}" for name in names}


def test_digest_follows_file_content(tmp_path, monkeypatch):
    root = tmp_path / "leakgauge"
    shutil.copytree(code_digest.ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    before = code_digest.code_digests(audits())
    monkeypatch.setattr(code_digest, "ROOT", root)
    assert code_digest.code_digests(audits()) == before
    (root / "core" / "game.py").write_text("x = 1")
    after = code_digest.code_digests(audits())
    assert {name for name in before if before[name] != after[name]} == {"core/game.py"}


def test_versions_list_numerical_libraries():
    [audit] = audits()
    assert set(code_digest.library_versions(audit)) == {"numpy", "scipy", "scikit-learn"}
    found = code_digest.run_versions([audit])
    assert found["leakgauge"] == leakgauge.__version__
    assert {"python", "numpy", "scipy", "scikit-learn"} <= set(found)
    assert Path(leakgauge.__file__).parent.as_posix() not in str(found)


def test_versions_list_libraries_that_the_domain_imports_only():
    [audit] = audits()
    coin = replace(audit, domain="coin", mechanism={})
    assert set(code_digest.library_versions(coin)) == {"numpy", "scipy"}


def test_sources_are_those_of_the_package():
    assert Path(leakgauge.__file__).parent == code_digest.ROOT
