"""The pages for six kinds of readers: their commands are accepted, and every night they are carried out."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from leakgauge.cli.main import main, parser
from leakgauge.limits import read_policy

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "roles").glob("*.md"))
PARTS = re.compile(r"^```(bash|python|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\S+\.(?:py|toml))\n")  # the first line of a block that is a file of the reader


def parts(page):
    return PARTS.findall(page.read_text())


def commands(block):
    lines = [line for line in block.splitlines() if line.startswith("leakgauge")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def all_commands(page):
    return [words for language, block in parts(page) if language == "bash" for words in commands(block)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_is_accepted(page):
    assert all_commands(page)
    for words in all_commands(page):
        assert parser(words[0]).parse_args(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_can_be_read(page, tmp_path):
    for language, block in parts(page):
        if language == "toml":
            tomllib.loads(block)
        if language == "python":
            compile(block, page.name, "exec")
        if language == "toml" and block.startswith("# policy.toml"):
            (tmp_path / "policy.toml").write_text(block)
            assert read_policy(tmp_path / "policy.toml").metrics


def write_scores(file):
    rng = np.random.default_rng(1)
    members = rng.random(400) < 0.5
    scores = members + rng.laplace(size=400)
    rows = [f"{int(member)},{score}" for member, score in zip(members, scores, strict=True)]
    file.write_text("\n".join(["member,score", *rows, ""]))


def write_visits(file):
    rng = np.random.default_rng(2)
    rows = [
        f"{person},2024-05-{day:02d} {hour:02d}:00:00,{45.4 + lat:.4f},{9.1 + lon:.4f}"
        for person, day, hour, lat, lon in zip(
            rng.integers(400, size=8000),
            rng.integers(6, 13, size=8000),
            rng.integers(24, size=8000),
            rng.random(8000) / 10,
            rng.random(8000) / 10,
            strict=True,
        )
    ]
    file.write_text("\n".join(["user,time,lat,lon", *rows, ""]))


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_reader_gets_through_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_scores(tmp_path / "scores.csv")
    write_visits(tmp_path / "visits.csv")
    for language, block in parts(page):
        name = NAMED.match(block)
        if name:
            (tmp_path / name[1]).write_text(block)
        if name and language == "python":
            call = ["-m", "pytest", "-q", name[1]] if name[1].startswith("test_") else [name[1]]
            done = subprocess.run([sys.executable, *call], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            for shown in re.findall(r"^print\(.*\)  # (.+)$", block, re.MULTILINE):
                assert shown in done.stdout.splitlines()
        for words in commands(block) if language == "bash" else []:
            assert main(words) in (0, 1, 3), words
