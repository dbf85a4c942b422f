"""The page about ``leakgauge new`` shows what the command prints."""

import re
import shlex
from pathlib import Path

import pytest

from leakgauge import draft
from leakgauge.cli.main import main

PAGE = (Path(__file__).parent.parent / "docs" / "new.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands():
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines]


def without_times(text):
    return re.sub(r"about ([\d.]+ (s |min |h )?to )?[\d.]+ (s|min|h)\b", "about SOME TIME", text)


@pytest.fixture
def made_losses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "docs/new.md", "exec"), {})


def test_the_example_prints_what_the_page_shows(made_losses, capsys):
    assert commands()[0] == ["new", "losses.csv"]
    assert main(commands()[0]) == 0
    shown = blocks("text")[0]
    assert without_times(capsys.readouterr().out) == without_times(shown)


def test_the_other_commands_work(made_losses, capsys):
    others = commands()[1:]
    assert len(others) == 5
    for words in others:
        assert main(words) == 0, words
    assert "randomised = true" in Path("strict/plan.toml").read_text()
    assert Path("city-by-hour").is_dir()


def test_the_table_names_every_kind():
    named = re.findall(r"^\| .*? \| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(named) == sorted(draft.draft_kinds())
