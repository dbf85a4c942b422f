import pytest

from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import reproduce


@pytest.fixture
def read(make, plain):
    return lambda manifest: plain(reproduce.section(JudgedRun([make()], manifest)).html)


def test_plan_text_is_shown_to_save_and_run(manifest, read):
    text = read(manifest)
    assert "Save the plan below as plan.toml , then run: leakgauge run plan.toml Seed 20240501" in text
    assert "9f2c1e0a7b" in text
    assert "numpy 2.4.6" in text
    assert '[[audit]] name = "counts-by-hour"' in text


def test_recorded_command_is_quoted(manifest, read):
    text = read(manifest | {"command": "leakgauge run city.toml --seed 7", "data": {"city": "f00d"}})
    assert "Save the plan below as city.toml , then run: leakgauge run city.toml --seed 7" in text
    assert "Digest of your data and code f00d (city)" in text


def test_plan_path_is_named_and_read(manifest, read, tmp_path):
    path = tmp_path / "city.toml"
    path.write_text("seed = 5\n# ünïcode")
    assert "run city.toml" in read(manifest | {"plan": path})
    assert "# ünïcode" in read(manifest | {"plan": str(path)})
    assert str(tmp_path) not in read(manifest | {"plan": path})
    assert "Run: leakgauge run gone.toml" in read(manifest | {"plan": tmp_path / "gone.toml"})


def test_empty_manifest_is_accepted(read):
    text = read({})
    assert "The command that made these verdicts was not recorded." in text
    assert "Seed 20240501" in text
    assert "Digest of plan, data and code not recorded" in text


def test_long_plan_is_truncated(manifest, read):
    text = read(manifest | {"plan": "# long\n" * 30_000})
    assert "Cut after 50,000 characters" in text
    assert len(text) < 53_000


def test_shared_digest_of_data_and_code_is_shown_once(manifest, read):
    text = read(manifest | {"data": {"a@n=1": "f00d", "a@n=2": "f00d", "b": "beef"}})
    assert "f00d (a@n=1, a@n=2)" in text
    assert "beef (b)" in text


def test_plan_is_outside_any_closed_box(make, manifest):
    html = reproduce.section(JudgedRun([make()], manifest)).html
    assert "<details" not in html
    assert "counts-by-hour" in html
