from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.data_draws import draw_sentence, section

DRAWS = {"number": 12.0, "mean": 0.7312, "smallest": 0.6551, "largest": 0.81}


def test_mean_and_range_over_draws_are_shown(make, plain):
    text = plain(section(JudgedRun([make(draws=DRAWS)], {})).html)
    assert "12 73.1% 65.5% 81.0%" in text
    assert "The range includes chance" in text
    assert "a table of everyone counts the same people in all of them" in text


def test_sentence_gives_mean_and_range(make):
    assert draw_sentence(make(draws=DRAWS)) == (
        "over 12 splits of the people, right 73.1% of the time on average, from 65.5% to 81.0%."
    )


def test_nothing_is_said_without_draws(make):
    assert section(JudgedRun([make()], {})) is None
    assert draw_sentence(make()) == ""
