"""Audits find what is wrong with a service, and do not accuse one that does what is stated."""

import pytest

from domains.queries.remote.noisy_count_services import BROKEN, CORRECT
from domains.queries.remote.service_audits import audit_service
from night import others_at_night

N_AUDITS = 60  # of correct services, at confidence 0.999


@pytest.mark.parametrize("name", BROKEN)
def test_broken_service_is_found(tmp_path, name):
    done = audit_service(BROKEN[name], tmp_path)
    assert "violated" in done.findings, (done.verdicts, done.printed)
    assert done.code == 1
    assert done.service.sessions == {}  # all were closed


@pytest.mark.parametrize("name", CORRECT)
def test_correct_service_is_not_accused(tmp_path, name):
    done = audit_service(CORRECT[name], tmp_path)
    assert done.findings == {"not violated"}, (done.verdicts, done.printed)
    about = {verdict.get("about") for verdict in done.verdicts}
    assert about == ({"mechanism"} if name == "MoreNoise" else {None})
    assert done.code == (3 if name == "MoreNoise" else 0)


@pytest.mark.parametrize("name", others_at_night(["NoNoise", "AnswersOn", "NoisyCounts"], "NoisyCounts"))
def test_with_positive_control(tmp_path, name):
    """The positive control asks other questions, and changes no finding."""
    done = audit_service((CORRECT | BROKEN)[name], tmp_path, control="absent")
    assert {verdict["instrument"]["control"]["status"] for verdict in done.verdicts} == {"passed"}
    assert done.findings == ({"violated"} if name in BROKEN else {"not violated"})


@pytest.mark.nightly
def test_correct_services_are_hardly_ever_accused(tmp_path):
    """Of 60 audits at confidence 0.999 at most one is wrong."""
    accused = []
    for i in range(N_AUDITS):
        name = list(CORRECT)[i % len(CORRECT)]
        folder = tmp_path / str(i)
        folder.mkdir()
        done = audit_service(CORRECT[name], folder, seed=100 + i)
        assert done.verdicts, done.printed
        if "violated" in done.findings:
            accused.append((name, [verdict["evidence"] for verdict in done.verdicts]))
    assert len(accused) <= 1, accused
