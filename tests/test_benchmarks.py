"""Results of benchmarks are written section by section, and the documentation shows them."""

import os
import subprocess
import sys
from pathlib import Path

import benchmarks.__main__ as benchmarks_main
import pytest
from benchmarks import audits, whole_country, workers
from benchmarks.__main__ import _listed, names, read_sections, write_section
from benchmarks.measure import Timing, growth, ratio

ROOT = Path(__file__).parent.parent


def test_documentation_shows_results():
    assert "benchmarks.md" in (ROOT / "mkdocs.yml").read_text()
    assert '--8<-- "benchmarks/results.md"' in (ROOT / "docs" / "benchmarks.md").read_text()


def test_every_section_has_date_and_machine():
    sections = dict(read_sections(ROOT / "benchmarks" / "results.md"))
    assert sections
    assert set(sections) <= set(names())
    for section in sections.values():
        conditions, _, numbers = section.partition("\n\n")
        assert conditions.startswith("*20")
        assert "cores" in conditions
        assert "Python 3." in conditions
        assert "- " in numbers


def test_benchmarks_without_section_are_listed():
    text = (ROOT / "benchmarks" / "results.md").read_text()
    for name in set(names()) - set(dict(read_sections(ROOT / "benchmarks" / "results.md"))):
        assert f"`{name}`" in text


def test_new_section_replaces_only_the_old_one(tmp_path):
    path, (one, other, *_) = tmp_path / "results.md", names()
    write_section(path, one, "first\n\n- 1 x")
    write_section(path, other, "second")
    assert dict(read_sections(path)) == {one: "first\n\n- 1 x", other: "second"}
    write_section(path, one, "third")
    assert dict(read_sections(path)) == {one: "third", other: "second"}
    assert f"`{one}`" not in path.read_text()
    assert f"`{names()[-1]}`" in path.read_text().partition("## Not measured yet")[2]


def test_ratio_has_range_of_its_repeats():
    assert ratio(Timing((10.0, 30.0, 20.0)), Timing((1.0, 2.0, 4.0))) == "10 x (2.5 to 30)"
    assert ratio(Timing((1e4,)), Timing((1.0,))) == "10,000 x (10,000 to 10,000)"


def test_growth_is_exponent_of_size():
    sizes = [1, 2, 4, 8]
    assert growth(sizes, [Timing((size**1.5,)) for size in sizes]) == pytest.approx(1.5)


def test_lines_are_listed_under_headings():
    assert _listed("head\n- a\n  - b") == "- head\n    - a\n        - b"
    assert _listed("- a\n- b") == "- a\n- b"


def test_benchmark_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    """The exit code says so, and its section stays as it was."""
    path = tmp_path / "results.md"
    write_section(path, "audits", "before")
    monkeypatch.setattr(benchmarks_main, "RESULTS", path)
    monkeypatch.setattr("sys.argv", ["benchmarks", "audits", "workers"])
    monkeypatch.setattr(audits, "run", lambda: {}["missing"])
    monkeypatch.setattr(workers, "run", lambda: "- 1 x")
    assert benchmarks_main.main() == 1
    sections = dict(read_sections(path))
    assert sections["audits"] == "before"
    assert sections["workers"].endswith("- 1 x")
    assert "failed: audits" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["benchmarks", "workers"])
    assert benchmarks_main.main() == 0


LONG = {"audits", "dp_training", "dry_run", "groups", "likelihood_neuron", "shadow_classifiers"}  # at night
VERY_LONG = {
    "exposure",
    "likelihood_leads",
}  # over a minute even for few people: make bench alone


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] if name in LONG else [])
        for name in names()
        if name not in VERY_LONG
    ],
)
def test_benchmark_runs_at_its_smallest_size(name):
    code = f"from benchmarks.{name} import run\nif __name__ == '__main__': print(run())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "LEAKGAUGE_SMALLEST_BENCHMARKS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.nightly
def test_measured_work_still_runs():
    """Benchmarks build parts of the package themselves, so that a change of these parts can break them."""
    (played,) = audits.audit(people=2_000, rounds=50, targets=5)()
    assert len(played) == len(audits.PLAYERS)
    assert all(len(trials) == 50 * 5 for trials in played.values())
    assert "growth of exposure in people" in whole_country.run(sizes=(1_000, 2_000))
