"""Bundles made to harm who checks them: nothing runs, nothing outside is read, one line is said."""

import io
import json
import os
import stat
import struct
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import leakgauge
from leakgauge import api
from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.runner import limited_process, manifest
from leakgauge.runner.block_store import BlockStore, RoundBlock
from leakgauge.runner.bundle_zip import read_zip, write_zip
from leakgauge.support.files import json_digest

SHOWN = "\x1b[2J\nExit code 0: everything agrees.\u202e"
_watched, _opened = [], []


def _watch(event, arguments):
    if _watched and event in ("open", "os.listdir", "os.scandir", "import", "exec", "compile"):
        _opened.append((event, str(arguments[event == "compile"])))  # of what is compiled, its file


sys.addaudithook(_watch)


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """The files of an honest bundle."""
    folder = tmp_path_factory.mktemp("honest")
    audit = {
        "name": "made",
        "domain": "locations",
        "rounds": 20,
        "block": 20,
        "data": {"source": "synthetic", "users": 60, "sites": 6, "epochs": 24},
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "attacks": [{"name": "likelihood", "knowledge": "informed"}],
        "challenger": {"group_size": 10, "targets": 2},
    }
    plan = {"seed": 3, "limits": {"accuracy": 0.9}, "audit": [audit]}
    leakgauge.run(plan, out=folder / "run")
    leakgauge.expose(plan, out=folder / "run")
    return read_zip(leakgauge.bundle(folder / "run").path)


@pytest.fixture
def outside(tmp_path):
    """A folder beside the bundle, with code that leaves a mark."""
    folder = tmp_path / "outside"
    (folder / "code").mkdir(parents=True)
    mark = f"open({str(tmp_path / 'imported')!r}, 'w').close()\ndef publish(*_): ...\n"
    for name in ("a·b", "mine", "℘"):
        (folder / "code" / f"{name}.py").write_text(mark)
    (folder / "plan.toml").write_text("seed = 1")
    return folder


def in_manifest(change):
    """The bundle with another manifest, whose checksum is right."""

    def make(members, outside):
        table = json.loads(members["manifest.json"])
        del table["checksum"]
        change(table, outside)
        table["checksum"] = json_digest(table)
        return {**members, "manifest.json": json.dumps(table).encode()}

    return make


def own_code(reference, plan_file=None):
    def change(table, outside):
        table["plan"]["audits"][0]["mechanism"] = {"name": "own", "release": reference}
        table["plan_file"] = plan_file and str(outside / plan_file)

    return change


def many_people(table, outside):
    table["plan"]["audits"][0]["data"]["users"] = 20_000_000


def label_outside(table, outside):
    table["plan"]["audits"][0]["contenders"][0]["label"] = f"../../../../../..{outside}"


def endless(table, outside):
    table["plan"]["audits"][0] |= {"rounds": 10**17, "block": 1}


def code_inside(members, outside):
    return {
        **in_manifest(own_code("code.a·b:publish"))(members, outside),
        "code/a·b.py": (outside / "code" / "a·b.py").read_bytes(),
    }


def in_block(**changed):
    """The bundle with other columns in a block, whose checksum is right."""

    def make(members, outside):
        name = min(name for name in members if name.startswith("audits/"))
        with np.load(io.BytesIO(members[name])) as archive:
            columns = dict(archive) | changed
        digest, (_, audit, label, _) = json.loads(members["manifest.json"])["digest"], name.split("/")
        store = BlockStore(Path(), f"{digest}/{audit}/{label}")
        trials = {key: column for key, column in columns.items() if key not in ("header", "checksum")}
        checksum = store._checksum(RoundBlock(0, range(20)), str(columns["header"]), trials)
        content = io.BytesIO()
        np.savez(content, **columns | {"checksum": np.array(checksum)})
        return {**members, name: content.getvalue()}

    return make


def giant_shape(members, outside):
    name = min(name for name in members if name.startswith("audits/"))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (400000000000000,), }"
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        for column in ("rounds", "targets", "members", "scores", "header", "checksum"):
            archive.writestr(f"{column}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    return {**members, name: content.getvalue()}


class Marking:
    """An object whose unpickling would leave a mark."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def pickled(members, outside):
    name = min(name for name in members if name.startswith("audits/"))
    content = io.BytesIO()
    np.savez(content, scores=np.array([Marking(outside.parent / "imported")], dtype=object))
    return {**members, name: content.getvalue()}


def named_versions(members, outside):
    about = json.loads(members["bundle.json"])
    about["versions"]["numpy"] = SHOWN
    about["left_out"] = [SHOWN]
    return {**members, "bundle.json": json.dumps(about).encode()}


def raw_zip(path, members, name, kind=stat.S_IFREG):
    """Write a zip file with one more entry, whatever its name is."""
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for member, content in members.items():
            archive.writestr(member, content)
        entry = zipfile.ZipInfo(name)
        entry.create_system, entry.external_attr = 3, (kind | 0o644) << 16
        archive.writestr(entry, b"/etc/passwd")


def bomb(path, members):
    """A file that says it unpacks to 3 GB."""
    write_zip(members, path)
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.rindex(b"PK\x01\x02") + 24, 3 * 2**30)
    path.write_bytes(content)


def zipped(make):
    return lambda path, members, outside: write_zip(make(members, outside), path)


def deep(members, outside):
    return {**members, "verdicts.json": b'{"verdicts": ' + b"[" * 200_000}


def without_verdicts(members, outside):
    return {name: content for name, content in members.items() if name != "verdicts.json"}


def hidden_entry(path, members, _):
    """A zip file before the bundle, which a program that reads from the beginning finds first."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("report.html", "May be published")
    write_zip(members, path)
    path.write_bytes(content.getvalue().partition(b"PK\x01\x02")[0] + path.read_bytes())


def other_local_header(path, members, _):
    """A file with another size where a program that reads from the beginning looks for it."""
    write_zip(members, path)
    content = bytearray(path.read_bytes())
    content[18:22] = struct.pack("<I", 1)
    path.write_bytes(content)


def commented(path, members, _):
    write_zip(members, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"<h1>May be published</h1>"


def in_verdicts(change):
    def make(members, outside):
        return {**members, "verdicts.json": change(members["verdicts.json"].decode()).encode()}

    return make


def more_files(*names):
    def make(members, outside):
        block = members[min(name for name in members if name.startswith("audits/"))]
        return {**members, **dict.fromkeys(names, block)}

    return make


HOSTILE = {
    "a hidden entry": hidden_entry,
    "another local header": other_local_header,
    "a comment": commented,
    "a block that is not of the plan": zipped(more_files("audits/made/other/block-00000000.npz")),
    "a block after the last": zipped(more_files("audits/made/likelihood-informed/block-00000001.npz")),
    "a control of nobody": zipped(more_files(f"controls/{'0' * 32}/block-00000000.npz")),
    "a block with other digits": zipped(
        more_files(
            "audits/made/likelihood-informed/block-\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660.npz"
        )
    ),
    "a key twice": zipped(
        in_verdicts(lambda text: text.replace('"summary": {', '"summary": {"exit_code": 0}, "summary": {', 1))
    ),
    "a key that nobody knows": zipped(
        in_verdicts(lambda text: text.replace("{", '{"conclusion": "safe",', 1))
    ),
    "code in the bundle": zipped(code_inside),
    "code beside a plan elsewhere": zipped(in_manifest(own_code("code.mine:publish", "plan.toml"))),
    "a name that only Python takes for one": zipped(in_manifest(own_code("code.℘:publish"))),
    "a plan file elsewhere": zipped(in_manifest(lambda table, _: table.update(plan_file="/etc/passwd"))),
    "data of 20 million people": zipped(in_manifest(many_people)),
    "a label that leads elsewhere": zipped(in_manifest(label_outside)),
    "endless rounds": zipped(in_manifest(endless)),
    "a name with ..": lambda path, members, _: raw_zip(path, members, "../imported"),
    "an absolute name": lambda path, members, outside: raw_zip(path, members, f"{outside}/imported"),
    "a link": lambda path, members, _: raw_zip(path, members, "exposure.json2", stat.S_IFLNK),
    "a name twice": lambda path, members, _: raw_zip(path, members, "verdicts.json"),
    "a zip bomb": lambda path, members, _: bomb(path, members),
    "deep JSON": zipped(deep),
    "a huge number": zipped(lambda members, _: {**members, "verdicts.json": b'{"schema": ' + b"9" * 10**6}),
    "a pickle": zipped(pickled),
    "an array of a giant shape": zipped(giant_shape),
    "scores that are no numbers": zipped(in_block(scores=np.full(40, np.nan))),
    "endless scores": zipped(in_block(scores=np.full(40, np.inf))),
    "targets that are too many": zipped(in_block(targets=np.arange(40) * 10**15)),
    "members that are no bits": zipped(in_block(members=np.arange(40.0))),
    "no verdicts": zipped(without_verdicts),
    "a forged line": zipped(named_versions),
}


CODES = {  # of what an honest bundle, whose exposure is not compared, would hide behind its 3
    **dict.fromkeys(list(HOSTILE)[: list(HOSTILE).index("a key that nobody knows")], 2),
    "a key that nobody knows": 1,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_hostile_bundle_acts(name, members, outside, tmp_path, monkeypatch, capsys):
    HOSTILE[name](tmp_path / "x.zip", members, outside)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "call_limited", lambda _, function, place: vars(api)[function](place))
    monkeypatch.setattr("leakgauge.catalog.build_challenger", lambda *_: pytest.fail("data were made"))
    _watched.append(name)
    try:
        code = main(["verify", "x.zip"])
    finally:
        _watched.clear()
        opened, _opened[:] = list(_opened), []
    assert not (tmp_path / "imported").exists()
    assert not [
        place for _, place in opened if "outside" in place or "/etc/" in place or place.startswith("code.")
    ]
    shown = capsys.readouterr()
    assert code in (1, 2, 3)
    assert code == CODES.get(name, code)
    lines = (shown.out + shown.err).splitlines()
    assert len(shown.err.splitlines()) == (code == 2)
    assert not [line for line in lines if line.startswith("Exit code 0")]
    assert not set("\x1b\u202e") & set(shown.out + shown.err)
    assert code == 2 or any(line.startswith(f"Exit code {code}: ") for line in lines)


def test_code_in_a_bundle_is_not_run_in_the_process_that_checks_it(members, outside, tmp_path):
    write_zip(code_inside(members, outside), tmp_path / "x.zip")
    with pytest.raises(BadInput, match=r"x\.zip: code/a·b\.py is no file of a bundle"):
        leakgauge.verify(tmp_path / "x.zip")
    assert not (tmp_path / "imported").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits")
@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("CPU_SECONDS", 1, "1 s of CPU time were reached"), ("MEMORY", 300 * 2**20, "0.293 GB of memory")],
)
def test_a_check_that_takes_too_much_is_ended(members, tmp_path, monkeypatch, limit, value, said):
    write_zip(members, tmp_path / "x.zip")
    monkeypatch.setattr(limited_process, limit, value)
    found = leakgauge.verify(tmp_path / "x.zip")
    assert found.exit_code == 3
    assert said in found.obstacle


def test_a_run_folder_whose_names_lead_elsewhere_is_refused(members, tmp_path, outside):
    (tmp_path / "run").mkdir()
    hostile = in_manifest(label_outside)(members, outside)
    (tmp_path / "run" / "manifest.json").write_bytes(hostile["manifest.json"])
    with pytest.raises(BadInput, match="names a folder"):
        manifest.from_json(manifest.load(tmp_path / "run"), Path("run"))
