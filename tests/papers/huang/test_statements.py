import pytest

from leakgauge.papers.comparison import Agreement


@pytest.fixture
def cells(show):
    def spent(audit):
        (contender,) = audit.contenders
        each = audit.mechanism["epsilon"]
        return {"obtained": {"most": each * contender.attack_parameters["queries"]}}

    return show("statements", lambda audit, label: (0.6, 0.9), spent=spent)[0]


def test_every_number_of_the_text_agrees(cells):
    compared = {setting: cell for setting, cell in cells.items() if cell.published is not None}
    assert len(compared) == 8
    assert {cell.verdict for cell in compared.values()} == {Agreement.AGREES}
    assert cells["variance of the noise of a count, ε = 0.5"].ours.value == 8
    assert cells["ε obtained by 10 answers of ε = 0.2 each"].ours.value == pytest.approx(2)


def test_few_answers_have_no_printed_number(cells):
    kinds = [cells[f"t-test: {m} answers, ε in all = 10, simulated"].verdict for m in (2, 3, 4)]
    assert kinds == [Agreement.NOT_PRINTED, Agreement.NOT_PRINTED, Agreement.OURS_ONLY]


def test_a_wrong_account_differs(show):
    cells, _ = show(
        "statements", lambda audit, label: (0.6, 0.9), spent=lambda _: {"obtained": {"most": 0.4}}
    )
    assert cells["ε obtained by 5 answers of ε = 0.2 each"].verdict is Agreement.DIFFERS
