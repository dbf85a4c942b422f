"""What becomes of verdicts whose AUC is known."""

import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.guan24 import PAPER
from leakgauge.papers.guan24.statements import PUBLISHED
from leakgauge.papers.paper import Scale, Scope

TABLES = [f"table_{n}" for n in range(3, 12)]


def verdicts(shown):
    return {cell.setting: cell.verdict for cell in shown.cells}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("scale", list(Scale))
def test_numbers_of_other_data_are_shown_but_not_compared(show, name, scale):
    shown = show(name, lambda audit, label: 0.9, scale=scale)
    printed = [cell for cell in shown.cells if cell.published is not None and cell.published.places == 3]
    assert len(printed) == {"3": 24, "4": 20, "5": 20, "6": 10, "7": 8, "8": 10, "9": 8}.get(name[6:], 16)
    for cell in printed:
        assert cell.verdict is (Agreement.NOT_SIMULATED if cell.ours is None else Agreement.OTHER_DATA)
        assert cell.why
    if scale is Scale.FULL:
        assert all(cell.ours is not None for cell in printed)


def test_numbers_of_same_data_are_compared(show, milan):
    cells = show("table_3", lambda audit, label: 0.767, scale=Scale.FULL, data=milan, reach=0.001).cells
    found = {cell.setting: cell for cell in cells}
    assert found["Milan: Knock-Knock, k = 1"].verdict is Agreement.AGREES
    # Printed 0.683 ± 0.019 over 50 targets, ours over 50 others: 1.96 * 0.019 * sqrt(2) = 0.053.
    assert found["Milan: Knock-Knock, k = 2"].verdict is Agreement.DIFFERS
    assert found["Milan: Knock-Knock, k = 2"].ours.low == pytest.approx(0.767 - 0.0527, abs=5e-4)
    assert found["CDR: Knock-Knock, k = 1"].verdict is Agreement.OTHER_DATA


@pytest.mark.parametrize("name", ["table_10", "table_11"])
def test_tables_affected_by_a_bug_are_not_compared(show, milan, name):
    shown = show(name, lambda audit, label: 0.6, scale=Scale.FULL, data=milan)
    printed = [cell for cell in shown.cells if cell.published is not None and cell.published.places == 3]
    assert len(printed) == 16
    for cell in printed:
        assert cell.verdict is Agreement.OTHER_DATA
        assert "bug" in cell.reason


def test_auc_falling_with_k_agrees(show):
    def falling(audit, label):
        return 0.995 - 0.08 * audit.mechanism["suppress"]

    found = verdicts(show("figure_7", falling, reach=0.004))
    assert found["city: Knock-Knock, AUC at k = 1 minus that at k = 2"] is Agreement.AGREES
    assert found["city: Knock-Knock, AUC at k = 0"] is Agreement.AGREES
    rising = verdicts(show("figure_7", lambda audit, label: 0.5 + 0.05 * audit.mechanism["suppress"]))
    assert rising["city: Knock-Knock, AUC at k = 1 minus that at k = 2"] is Agreement.DIFFERS
    assert rising["city: zero-knowledge, AUC at k = 0"] is Agreement.DIFFERS


def test_zero_knowledge_may_lose_a_limited_amount(show):
    def less(loss):
        return lambda audit, label: 0.8 - loss * label.startswith("zero-knowledge")

    setting = "city: Knock-Knock and zero-knowledge, distance of the AUCs at {}"
    for name, at, most in (("figure_7", "k = 1", 0.09), ("figure_8", "event ε = 1", 0.06)):
        assert verdicts(show(name, less(most - 0.03)))[setting.format(at)] is Agreement.AGREES
        assert verdicts(show(name, less(most + 0.03)))[setting.format(at)] is Agreement.DIFFERS
        assert verdicts(show(name, less(most)))[setting.format(at)] is Agreement.UNDECIDED
        assert verdicts(show(name, less(-most - 0.03)))[setting.format(at)] is Agreement.DIFFERS  # ahead


def test_strong_user_day_noise_must_protect(show):
    def chance(audit, label):
        return 0.52 if audit.mechanism["unit"] == "user-day" else 0.95

    found = verdicts(show("figure_8", chance))
    assert found["city: Knock-Knock, AUC at user-day ε = 0.5"] is Agreement.AGREES
    assert found["city: Knock-Knock, AUC at event ε = 1, noise of scale 1"] is Agreement.AGREES
    assert found["city: Knock-Knock, AUC at user-day ε = 10, noise of scale 1"] is Agreement.AGREES
    active = "city: Knock-Knock, event ε = 1, targets of 20 visits or more: mean AUC"
    assert found[active] is Agreement.OURS_ONLY  # the paper takes targets of 10 visits or more
    other = verdicts(show("figure_8", lambda audit, label: 0.6))
    assert other["city: Knock-Knock, AUC at user-day ε = 0.5"] is Agreement.DIFFERS
    assert other["city: Knock-Knock, AUC at event ε = 1, noise of scale 1"] is Agreement.DIFFERS


def test_chance_at_strong_noise_is_an_equality(show):
    setting = "city: Knock-Knock, AUC at user-day ε = 0.5, beside chance"
    for value, verdict in ((0.505, Agreement.AGREES), (0.52, Agreement.DIFFERS), (0.48, Agreement.DIFFERS)):
        assert verdicts(show("figure_8", lambda audit, label, v=value: v))[setting] is verdict


def test_strong_suppression_must_hide_the_target(show):
    def chance(last):
        return lambda audit, label: last if audit.mechanism["suppress"] == 5 else 0.95

    for name in ("Knock-Knock", "zero-knowledge"):
        setting = f"city: {name}, AUC at k = 5"
        assert verdicts(show("figure_7", chance(0.53)))[setting] is Agreement.AGREES
        assert verdicts(show("figure_7", chance(0.75)))[setting] is Agreement.DIFFERS
    for value in (0.75, 0.53):
        found = {cell.setting: cell for cell in show("figure_7", chance(value)).cells}
        for setting in (
            "city: Knock-Knock, AUC at k = 5",
            "city: likelihood, auxiliary, k = 5: mean AUC",
            "CDR city: likelihood, auxiliary, k = 5: mean AUC",  # whatever the verdict is
        ):
            assert ("suppressed without it" in found[setting].reason) is (value > 0.55)
        said = "states below 0.5500 for its own attacks"
        assert (said in found["CDR city: likelihood, auxiliary, k = 5: mean AUC"].reason) is (value > 0.55)
        assert "suppressed without it" not in found["city: likelihood, auxiliary, k = 4: mean AUC"].reason


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("figure_7", ("AUC at k = 0", "AUC at k = 1", "AUC at k = 5")),
        (
            "figure_8",
            ("AUC at event ε = 1", "AUC at user-day ε = 0.5", "AUC at user-day ε = 0.5, beside chance"),
        ),
        ("figure_9", ("AUC, the whole trace known", "range of the AUC from 10 % to the whole trace")),
        ("table_8", ("AUC of groups of 1,000 minus groups of 100, k = 1",)),
    ],
)
def test_sentences_on_call_records_are_judged_or_listed(show, name, settings):
    quick, full = (
        {cell.setting: cell for cell in show(name, lambda audit, label: 0.8, scale=scale).cells}
        for scale in (Scale.QUICK, Scale.FULL)
    )
    for attack in ("Knock-Knock", "zero-knowledge"):
        for words in settings:
            listed, found = (cells[f"CDR city: {attack}, {words}"] for cells in (quick, full))
            assert listed.verdict is Agreement.NOT_SIMULATED
            assert "--scale full" in listed.reason
            assert listed.published == found.published
            assert found.ours is not None


@pytest.mark.parametrize("name", PAPER.items)
def test_every_sentence_of_the_full_scale_is_at_quick_scale_too(show, plans, name):
    if not plans(name, Scope(scale=Scale.QUICK)):
        return  # theory, or drawn without a game
    quick, full = (
        {
            cell.published.where
            for cell in show(name, lambda audit, label: 0.8, scale=scale).cells
            if cell.published is not None
        }
        for scale in (Scale.QUICK, Scale.FULL)
    )
    assert quick == full


def test_further_data_have_no_missing_sentences_and_keep_the_reason(show, tmp_path):
    (tmp_path / "foursquare_kuala_lumpur_checkins.parquet").write_bytes(b"")
    cells = show("figure_7", lambda audit, label: 0.8, data=tmp_path).cells
    found = [cell for cell in cells if cell.setting.startswith("Foursquare")]
    assert found
    assert all(cell.ours is not None for cell in found)
    crowded = [cell for cell in found if cell.setting.endswith(": Knock-Knock, AUC at k = 0")]
    assert [("its own data" in cell.reason, "crowded" in cell.reason) for cell in crowded] == [(True, True)]


def test_user_day_noise_equals_event_noise_at_a_tenth(show):
    def chance(audit, label):
        return 0.5 + audit.mechanism["epsilon"] / 20

    table = {cell.setting: cell.ours.value for cell in show("table_5", chance).cells if cell.ours}
    assert table["Milan: Knock-Knock, user-day ε = 5"] == pytest.approx(0.5 + 0.5 / 20)  # as event-level 0.5
    assert table["Milan: Knock-Knock, user-day ε = 0.5"] == pytest.approx(0.5 + 0.5 / 20)  # by itself


def test_paired_shadows_must_beat_independent_ones(show):
    def chance(audit, label):
        return 0.6 if label.endswith("independent") else 0.8

    found = verdicts(show("figure_10", chance))
    assert found["city: zero-knowledge, AUC of paired minus independent, user-day ε = 4"] is Agreement.AGREES
    other = verdicts(show("figure_10", lambda audit, label: 0.8 - chance(audit, label) / 2))
    assert other["city: zero-knowledge, AUC of paired minus independent, user-day ε = 4"] is Agreement.DIFFERS


def test_a_single_visit_must_suffice(show):
    setting = "city: {}, AUC, a single visit known"
    for value, verdict in ((0.6, Agreement.AGREES), (0.48, Agreement.DIFFERS), (0.505, Agreement.UNDECIDED)):

        def chance(audit, label, v=value):
            return v if label.endswith("one-visit") else 0.9

        found = verdicts(show("figure_9", chance))
        for name in ("Knock-Knock", "zero-knowledge"):
            assert found[setting.format(name)] is verdict
            # A tenth of a trace is more than one visit, and the paper only draws it.
            assert found[f"city: {name}, 10% of the trace known: mean AUC"] is Agreement.NOT_PRINTED


@pytest.mark.parametrize("scale", list(Scale))
def test_one_visit_is_one_visit(plans, scale):
    known = [
        contender.knowledge_parameters
        for audit in plans("figure_9", Scope(scale=scale))
        for contender in audit.contenders
        if contender.label.endswith("one-visit")
    ]
    assert known == [{"observations": 1}] * 2


def test_whole_trace_must_suffice(show):
    found = verdicts(show("figure_9", lambda audit, label: 0.6 if label.endswith("-0.1") else 0.9))
    assert found["city: zero-knowledge, AUC, the whole trace minus 10 % of it known"] is Agreement.AGREES
    whole = "city: Knock-Knock, AUC, the whole trace known"
    assert found[whole] is Agreement.UNDECIDED
    for value, verdict in ((0.95, Agreement.AGREES), (0.8, Agreement.DIFFERS)):
        assert verdicts(show("figure_9", lambda audit, label, v=value: v))[whole] is verdict


def test_statements_on_places_without_times_are_judged(show):
    found = {cell.setting: cell for cell in show("table_11", lambda audit, label: 0.7).cells}
    assert found["city: Knock-Knock, AUC, all places known"].verdict is Agreement.AGREES
    missed = found["city: zero-knowledge, AUC, all places known"]
    assert missed.verdict is Agreement.DIFFERS
    assert "bug" in missed.reason
    assert "city: Knock-Knock, AUC, the most visited place known" not in found  # “more than 2”
    random = verdicts(show("table_10", lambda audit, label: 0.55))
    assert random["city: zero-knowledge, AUC, the most visited place known"] is Agreement.AGREES


def test_small_groups_are_easy_under_noise_and_hard_under_suppression(show):
    def chance(audit, label):
        small = audit.challenger["group_size"] == 100
        return (0.95 if small else 0.8) if audit.mechanism["name"] == "laplace" else 0.7 if small else 0.9

    noise = verdicts(show("figure_11", chance))
    words = "city: zero-knowledge, AUC of groups of 100 minus groups of 1,000, event ε = 1"
    assert noise[words] is Agreement.AGREES
    table = verdicts(show("table_9", chance))
    assert table["city: Knock-Knock, AUC of groups of 1,000 minus groups of 100, k = 1"] is Agreement.AGREES
    # 2,000 and 1,000 are alike here, so an increase is undecided.
    assert (
        table["city: Knock-Knock, AUC of groups of 2,000 minus groups of 1,000, k = 1"] is Agreement.UNDECIDED
    )


@pytest.mark.parametrize("name", ["figure_7", "figure_8", "figure_9", "figure_10", "figure_11", "figure_12"])
def test_every_figure_draws_its_results(show, name):
    shown = show(name, lambda audit, label: 0.8)
    assert shown.charts
    for chart in shown.charts:
        rows = chart.spec["data"]["values"]
        assert {row["stroke"] for row in rows} & {"line", "dashed"}
        dots = [row for row in rows if row["stroke"] == "dot"]
        assert all((row["low"], row["value"], row["high"]) == (0.79, 0.8, 0.81) for row in dots)
    assert any("substitute" in note for note in shown.notes)


def test_less_than_is_not_at_most():
    read = {
        name: PUBLISHED[name].written for name in ("figure_7_strong_suppression", "figure_8_strong_noise")
    }
    assert set(read.values()) == {"below 0.5500"}


def test_number_of_earlier_work_is_listed(show):
    (listed,) = [cell for cell in show("table_7", lambda audit, label: 0.8).cells if cell.ours is None]
    assert listed.verdict is Agreement.OTHER_DATA
    assert listed.reason.startswith("Published: above 0.8300, “AUC > 0.83”")
    assert "Pyrgelis" in listed.reason


def test_notes_say_what_is_compared_on_a_stand_in(show):
    shown = show("figure_9", lambda audit, label: 0.8)
    (note,) = [note for note in shown.notes if "substitute" in note]
    assert "are compared with" not in note
    compared = {cell.setting.split(":")[0] for cell in shown.cells if cell.verdict.is_compared}
    assert compared == {"city"}
    assert "listed as not simulated" in note
    ranges = [cell for cell in shown.cells if cell.setting.startswith("city") and "range" in cell.setting]
    assert [cell.verdict for cell in ranges] == [Agreement.OTHER_DATA] * 2


def test_published_table_is_drawn_in_the_chart(show):
    rows = show("table_9", lambda audit, label: 0.8).charts[0].spec["data"]["values"]
    printed = {row["x"]: row["value"] for row in rows if row["label"] == "Knock-Knock, published"}
    assert printed == {100: 0.756, 500: 0.889, 1000: 0.916, 2000: 0.981}


def test_places_without_positions_are_one_table_of_our_own(show, tmp_path):
    def chance(audit, label):
        if "city-no-positions" in audit.name and label == "zero-knowledge":
            return 0.7
        return 0.6 if "categor" in audit.name else 0.9

    (tmp_path / "foursquare_kuala_lumpur_checkins.parquet").write_bytes(b"")
    shown = show("unknown_positions", chance, data=tmp_path)
    found = {cell.setting: cell for cell in shown.cells}
    assert {cell.verdict for cell in shown.cells} == {Agreement.OURS_ONLY}
    assert len(found) == 4 * 2 * (5 + 2)
    lost = "zero-knowledge, k = 1: AUC with positions known minus that with {}"
    assert found[lost.format("no positions")].ours.value == pytest.approx(0.2)
    assert found[lost.format("10 categories")].ours.value == pytest.approx(0.3)
    assert (
        found["Knock-Knock, event ε = 1: Foursquare Kuala Lumpur by category, categories"].ours.value == 0.6
    )
