import sys

from leakgauge.runner.progress import progress


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    with progress(10) as advance:
        advance("a", 5)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_rounds_and_their_rate(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with progress(1000) as advance:
        for _ in range(4):
            advance("the [b]audit[/b]", 200)
    out, err = capsys.readouterr()
    assert out == ""
    assert "the [b]audit[/b]" in err
    assert "800/1000" in err
    assert "/s" in err


def test_uneven_steps_have_no_rate(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with progress(5, unit="steps") as advance:
        advance("city: data", 2)
    _, err = capsys.readouterr()
    assert "2/5" in err
    assert "steps" in err
    assert "/s" not in err.replace("/5", "")
