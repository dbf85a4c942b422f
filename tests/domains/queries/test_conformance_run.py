"""Transcripts in a run folder: kept with their blocks, for the owner alone, and judged over all blocks."""

import json
import stat

import pytest

from leakgauge import api
from leakgauge.core.errors import IncompleteRun

PLAN = {
    "seed": 4,
    "audit": [
        {
            "name": "promised",
            "domain": "queries",
            "rounds": 40,
            "block": 10,
            "data": {"records": 80},
            "mechanism": {"name": "laplace", "epsilon": 0.5},
            "attacks": [{"name": "split_likelihood", "queries": 8}, {"name": "repeat", "queries": 8}],
            "challenger": {"accountant": "none", "promise": 3.0},
        }
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(api, "write_report", lambda *_: None)
        return api.run(PLAN, out=folder / "out"), folder / "out"


def evidence(result):
    return {found.label: (found.certain, found.evidence) for found in result}


def test_answers_beyond_the_promise_are_certain_in_a_run(run):
    result, _ = run
    found = evidence(result)
    assert found["split_likelihood-known"][0]
    assert "8 different answers about one record" in found["split_likelihood-known"][1][0]
    assert found["repeat-known"] == (False, ())  # its cached answers cost nothing
    assert result.summary.exit_code == 1
    assert {row["name"] for row in result[0].conformance} >= {"too_little_noise", "too_much_noise"}


def test_transcripts_are_for_the_owner_alone_and_in_no_verdict(run):
    result, folder = run
    paths = sorted(folder.rglob("transcript-*.npz"))
    assert len(paths) == 8
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    written = json.loads((folder / "verdicts.json").read_text())
    assert not {"answers", "truths", "totals"} & set(written["verdicts"][0])
    assert all(not isinstance(value, list) for row in result[0].conformance for value in row.values())


def test_run_with_a_lost_transcript_is_incomplete_and_continues(run, monkeypatch):
    result, folder = run
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    min(folder.rglob("transcript-*.npz")).unlink()
    with pytest.raises(IncompleteRun, match="block 0"):
        api.judge_folder(folder)
    assert evidence(api.run(PLAN, out=folder)) == evidence(result)
    assert evidence(api.judge_folder(folder)) == evidence(result)


def test_workers_find_the_same(run, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    again = api.run(PLAN, out=tmp_path / "out", workers=2)
    assert evidence(again) == evidence(run[0])
    assert [found.conformance for found in again] == [found.conformance for found in run[0]]
