"""News of long work reaches whoever listens, and nobody else."""

import sys
from types import SimpleNamespace

import pytest

from leakgauge.runner.engines import ProcessEngine, map_in_order
from leakgauge.support import progress
from leakgauge.support.progress import listen_to_progress, progress_bar, report_progress


def test_messages_reach_the_listener_only():
    heard = []
    report_progress("before")
    with listen_to_progress(heard.append):
        report_progress("epoch 1 of 2")
        with listen_to_progress(lambda _: None):
            report_progress("to another one")
        report_progress("epoch 2 of 2")
    report_progress("after")
    assert heard == ["epoch 1 of 2", "epoch 2 of 2"]


def train(item):
    report_progress(f"epoch {item} of 2")
    return item


def test_worker_messages_reach_the_parent():
    heard = []
    with listen_to_progress(heard.append):
        assert map_in_order(ProcessEngine(2), train, [1, 2]) == [1, 2]
    assert heard
    assert set(heard) <= {"epoch 1 of 2", "epoch 2 of 2"}


def test_worker_messages_are_throttled_and_may_be_lost(tmp_path, monkeypatch):
    clock = iter([0.0, 0.1, 0.6, 1.2])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    path = tmp_path / "latest"
    write = progress.progress_file_writer(path)
    found = []
    for words in ("first", "too soon", "second"):
        write(words)
        found.append(path.read_text())
    assert found == ["first", "first", "second"]
    path.unlink()
    tmp_path.rmdir()
    write("nobody listens any more")


def test_nothing_is_shown_without_terminal(capsys):
    with progress_bar(10) as advance:
        advance("a", 5)
    assert capsys.readouterr() == ("", "")


def test_terminal_shows_rounds_and_rate(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar(1000) as advance:
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
    with progress_bar(5, unit="steps") as advance:
        advance("city: data", 2)
    _, err = capsys.readouterr()
    assert "2/5" in err
    assert "steps" in err
    assert "/s" not in err.replace("/5", "")


class Display:
    """Stands for IPython's display with an id, of which a notebook shows the last content only."""

    def __init__(self):
        self.shown = []

    def display(self, content, *, display_id):
        assert display_id is True
        self.update(content)
        return self

    def update(self, content):
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch):
    """The modules of IPython in a kernel, without ipywidgets."""
    display = Display()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    inside = SimpleNamespace(HTML=str, display=display.display)
    monkeypatch.setitem(sys.modules, "IPython.display", inside)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return SimpleNamespace(display=display, shell=shell)


def test_a_notebook_shows_a_bar_in_one_place_and_removes_it(notebook, monkeypatch):
    clock = iter([0.0, 0.0, 0.1, 0.7, 0.8])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with progress_bar(10, done=2) as advance:
        for _ in range(3):
            advance("<city>", 1)
    first, second, last = notebook.display.shown
    assert 'value="2" max="10"' in first
    assert "&lt;city&gt;: 4 of 10 rounds, 1 s" in second
    assert last == ""


def test_ipython_in_a_terminal_is_no_notebook(notebook, monkeypatch):
    assert progress.in_notebook()
    notebook.shell.kernel = None
    assert not progress.in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not progress.in_notebook()
