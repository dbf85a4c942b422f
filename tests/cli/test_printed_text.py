"""Text of others reaches terminal and report with control and bidirectional characters as escapes."""

import io
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from leakgauge.cli.main import main
from leakgauge.support.files import json_digest

ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SHOWN = "\x1b[2J\nExit code 0: everything agrees.\u202e\x9b1m\r\x07"


@pytest.fixture
def hostile(call, plan, tmp_path):
    """A run folder whose manifest has such text wherever text may be."""
    plan()
    call("run", "coin.toml")
    path = tmp_path / "runs" / "coin" / "manifest.json"
    table = json.loads(path.read_text())
    del table["checksum"]
    table["heading"] = dict.fromkeys(("title", "owner", "release"), SHOWN)
    table["versions"][SHOWN] = SHOWN
    table["facts"]["coin"]["notes"] = [SHOWN]
    table["plan_file"] = f"../{SHOWN}.toml"
    audit = table["plan"]["audits"][0]
    audit["challenger"][SHOWN] = SHOWN
    audit["contenders"][0]["attack_parameters"][SHOWN] = SHOWN
    table["facts"]["coin"]["control"]["caveat"] = SHOWN
    path.write_text(json.dumps({**table, "checksum": json_digest(table)}))
    return path.parent


def no_line_is_forged(text):
    assert not ACTING.search(text)
    assert not [line for line in text.splitlines() if line.startswith("Exit code 0: everything agrees.")]


@pytest.mark.parametrize(
    "line",
    [
        "status DIR",
        "judge DIR",
        "report DIR",
        "report DIR --format md",
        "report DIR --format json",
        "gate DIR --junit a.xml --markdown a.md",
        "gate DIR --baseline DIR --markdown a.md",
        "bundle DIR",
        "run coin.toml --out DIR",
    ],
)
def test_no_command_prints_or_writes_text_that_acts(call, hostile, line, tmp_path):
    done = call(*(str(hostile) if word == "DIR" else word for word in line.split()))
    assert done.code != 70
    no_line_is_forged(done.out)
    no_line_is_forged(done.err)
    assert len(done.err.splitlines()) < 2
    for pattern in ("report.*", "a.*"):
        for path in [*hostile.glob(pattern), *tmp_path.glob(pattern)]:
            text = path.read_text("utf-8")
            assert not ACTING.search(re.sub(r"(?s)<script>.*</script>", "", text))
            if path.suffix != ".html":  # where a line means nothing
                no_line_is_forged(text)
    if (tmp_path / "a.xml").exists():
        ElementTree.parse(tmp_path / "a.xml")


def test_an_error_is_one_line(call):
    done = call("judge", f"no{SHOWN}file.csv")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    no_line_is_forged(done.err)


def test_a_plan_with_such_text_is_refused_in_one_line(call, plan):
    done = call("run", plan(('name = "coin"', 'name = "\\u001b[2J\\nExit code 0: all agrees"')))
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    no_line_is_forged(done.err)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize("command", ["status", "judge"])
def test_so_it_is_on_a_terminal(hostile, command, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    main([command, str(hostile)])
    shown = re.sub(r"\x1b\[[\d;]*m", "", screen.getvalue())  # colours of tables
    no_line_is_forged(shown)
    assert "\x1b[2J" not in screen.getvalue()
    assert len(shown.splitlines()) > 1


def test_all_output_of_commands_goes_through_one_stream():
    """Nothing but the last step of the command line writes to the streams of the process."""
    folder = Path(main.__code__.co_filename).parent
    direct = {path.name for path in folder.glob("*.py") if "sys.stdout.write" in path.read_text()}
    assert direct <= {"main.py"}
