"""Bundles of real runs: complete, deterministic, without people, and no change in them goes unnoticed."""

import io
import json
import re
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from leakgauge import api
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.runner import manifest
from leakgauge.runner.block_store import BlockStore, RoundBlock
from leakgauge.runner.bundle_zip import read_zip, write_zip
from leakgauge.runner.redaction import HiddenValues
from leakgauge.runner.run_bundle import bundle_members
from leakgauge.support.files import json_digest

EXAMPLES = Path(__file__).parents[2] / "examples"
FEW = '400\nblock = 200\nattacks = [{ name = "learned_event", shadows = 1_000 }]'
NAMES = ("Adaora-Okafor-sentinel", "Bertrand-Lenoir-sentinel")


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """Check bundles in this process, which takes less time; tests/runner/test_limited_process.py does not."""

    def call(_, function, argument):
        return json.loads(json.dumps(getattr(api, function)(argument), default=str))

    monkeypatch.setattr(api, "call_limited", call)


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """A small run of examples/noisy-count, bundled."""
    folder = tmp_path_factory.mktemp("counts")
    text = (EXAMPLES / "noisy-count" / "plan.toml").read_text()
    head, first, *_ = text.split("[[audit]]")
    (folder / "plan.toml").write_text(f"{head}[[audit]]{first}".replace("20_000", FEW))
    shutil.copy(EXAMPLES / "noisy-count" / "releases.py", folder)
    with (folder / "releases.py").open("a") as file:
        file.write(f"\n\nopen({str(folder / 'imported')!r}.replace('x', 'x'), 'w').close()\n")
    text = (folder / "releases.py").read_text().replace(str(folder), "' + __file__.rpartition('/')[0] + '")
    (folder / "releases.py").write_text(text)
    api.run(folder / "plan.toml", out=folder / "run")
    written = api.bundle(folder / "run", out=folder / "run.zip")
    (folder / "imported").unlink(missing_ok=True)
    return folder, written


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """A run like examples/city-by-hour on a file of visits, whose plan names its targets."""
    folder = tmp_path_factory.mktemp("home-sentinel")
    data = folder / "data-sentinel"
    data.mkdir()
    people = [*NAMES, *(f"person-sentinel-{i}" for i in range(60))]
    rows = [
        f"{name},2024-05-0{1 + (i + k) % 7} {8 + k % 5:02d}:00:00,place{(i * 3 + k) % 6}"
        for i, name in enumerate(people)
        for k in range(6)
    ]
    (data / "visits-sentinel.csv").write_text("\n".join(["user,time,place", *rows]) + "\n")
    (folder / "plan.toml").write_text(f"""
# asked for by {NAMES[0]}
seed = 3
[limits]
recognised = 0.9
[[audit]]
name = "named"
domain = "locations"
rounds = 40
block = 20
data = {{ source = "{data}/visits-sentinel.csv", columns = {{ place = "place" }} }}
mechanism = {{ name = "laplace", epsilon = 1.0 }}
attacks = [{{ name = "likelihood", knowledge = "informed" }}]
challenger = {{ group_size = 20, targets = {{ names = ["{NAMES[0]}", "{NAMES[1]}"] }} }}
""")
    api.run(folder / "plan.toml", out=folder / "run")
    api.expose(folder / "plan.toml", out=folder / "run")
    return folder, api.bundle(folder / "run")


def all_bytes(members):
    """Yield every file of a bundle, and every array in it."""
    for name, content in members.items():
        yield name, content
        if name.endswith(".npz"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                yield from ((f"{name}/{inner}", archive.read(inner)) for inner in archive.namelist())


def test_bundle_of_an_example_agrees_and_runs_no_code_of_it(counts):
    folder, written = counts
    found = api.verify(written.path)
    assert (found.exit_code, found.differences, found.verdicts) == (0, (), 1)
    assert found.sha256 == written.sha256
    assert not any(name.endswith(".py") for name in read_zip(written.path))
    assert not (folder / "imported").exists()


def test_same_folder_gives_the_same_bytes(counts, tmp_path):
    folder, written = counts
    again = api.bundle(folder / "run", out=tmp_path / "again.zip")
    assert again.sha256 == written.sha256 == sha256(written.path.read_bytes()).hexdigest()


def test_bundle_of_a_run_with_names_shows_no_person_and_no_path(city):
    folder, written = city
    assert written.path == folder / "run.zip"
    assert (folder / "run" / "exposure.csv").exists()
    secrets = [b"sentinel", str(folder).encode(), str(Path.home()).encode()]
    secrets += [text.decode().encode("utf-32-le") for text in secrets]
    for name, content in all_bytes(read_zip(written.path)):
        assert not any(secret in content for secret in secrets), name
    assert not any(secret in written.path.read_bytes() for secret in secrets)
    assert written.hidden == ("2 names or values of people", "1 file path or address")
    assert any("exposure.csv" in text for text in written.left_out)
    found = api.verify(written.path)
    assert (found.exit_code, found.differences) == (3, ())  # the visits behind exposure.json are not in it
    assert (found.not_compared, found.report_compared) == (("exposure.json",), True)


def test_limits_on_people_are_judged_again_from_the_summary_of_the_exposure(city):
    _, written = city
    verdicts = json.loads(read_zip(written.path)["verdicts.json"])
    assert verdicts["summary"]["recognised"] is not None


def test_digest_of_a_bundle_confirms_no_guess_of_a_name(city):
    folder, written = city
    members = read_zip(written.path)
    stored = manifest.load(folder / "run")
    assert stored["digest"].encode() not in b"".join(content for _, content in all_bytes(members))
    content = json.loads(members["manifest.json"])
    del content["checksum"]
    run = manifest.from_json(content, folder)
    assert run.digest == manifest.run_digest(run.plan, run.metadata, run.code)


def test_change_of_any_file_is_found(counts, tmp_path):
    _, written = counts
    with zipfile.ZipFile(written.path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    for name, content in entries.items():
        changed = {**entries, name: content[:-1] + bytes([content[-1] ^ 1])}
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
            for member, data in changed.items():
                archive.writestr(member, data)
        with pytest.raises(BadInput, match="SHA256SUMS"):
            api.verify(tmp_path / "x.zip")


@pytest.mark.parametrize("how", ["missing", "added"])
def test_missing_and_added_files_are_found(counts, tmp_path, how):
    _, written = counts
    members = read_zip(written.path)
    sums = {**members, "more.txt": b"more"} if how == "added" else dict(members)
    del members["verdicts.json"]
    write_zip(sums if how == "added" else members, tmp_path / "x.zip")
    with pytest.raises(BadInput, match=r"more\.txt is no file of a bundle|verdicts\.json is missing"):
        api.verify(tmp_path / "x.zip")


def changed_verdicts(members):
    table = json.loads(members["verdicts.json"])
    table["verdicts"][0]["finding"] = "violated"
    table["verdicts"][0]["metrics"]["accuracy"]["value"] += 1e-6
    table["verdicts"][0]["risk"]["status"] = "within"
    table["summary"]["exit_code"] = 77
    return {"verdicts.json": json.dumps(table).encode()}


def changed_manifest(members):
    table = json.loads(members["manifest.json"])
    del table["checksum"]
    table["plan"]["audits"][0]["challenger"]["epsilon"] = 9.0
    return {"manifest.json": json.dumps({**table, "checksum": json_digest(table)}).encode()}


def in_report(place, text):
    def change(members):
        page, n = re.subn(place, text, members["report.html"], count=1)
        assert n == 1
        return {"report.html": page}

    return change


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (changed_verdicts, {"finding", "metrics.accuracy.value", "risk.status", "exit_code"}),
        (changed_manifest, {"digest", "text"}),
        (lambda members: {"plan.toml": members["plan.toml"].replace(b"1.0", b"9.0")}, {"text"}),
        (
            lambda members: {"report.html": members["report.html"].replace(b"</h1>", b" is safe</h1>")},
            {"text"},
        ),
        (
            in_report(rb"<body>", b"<body><svg><foreignObject><h1>Certified</h1></foreignObject></svg>"),
            {"text"},
        ),
    ],
    ids=["verdicts", "manifest", "plan", "report", "drawing"],
)
def test_change_is_found_though_all_hashes_were_made_again(counts, tmp_path, change, fields):
    members = read_zip(counts[1].path)
    write_zip({**members, **change(members)}, tmp_path / "x.zip")
    found = api.verify(tmp_path / "x.zip")
    assert found.exit_code == 1
    assert fields <= {one.field for one in found.differences}


def changed_block(members, change):
    """The block with other scores, and with every checksum in it made again."""
    name = min(name for name in members if name.startswith("audits/"))
    with np.load(io.BytesIO(members[name])) as archive:
        columns = {column: archive[column] for column in archive.files}
    change(columns["scores"])
    _, audit, label, _ = name.split("/")
    digest = json.loads(members["manifest.json"])["digest"]
    store = BlockStore(Path(), f"{digest}/{audit}/{label}")
    trials = {key: value for key, value in columns.items() if key not in ("header", "checksum")}
    block = RoundBlock(0, range(200))
    columns["checksum"] = np.array(store._checksum(block, str(columns["header"]), trials))
    content = io.BytesIO()
    np.savez(content, **columns)
    return {name: content.getvalue()}


def flip_one_bit(scores, bit):
    scores.view(np.uint64)[0] ^= np.uint64(1) << np.uint64(bit)


def test_flipped_bit_of_a_score_is_found_though_all_hashes_were_made_again(counts, tmp_path):
    """Its sign decides on which side of the threshold it is; the last bit may change no number."""
    members = read_zip(counts[1].path)
    write_zip({**members, **changed_block(members, lambda scores: None)}, tmp_path / "same.zip")
    assert api.verify(tmp_path / "same.zip").exit_code == 0
    changed = changed_block(members, lambda scores: flip_one_bit(scores, 63))
    write_zip({**members, **changed}, tmp_path / "x.zip")
    found = api.verify(tmp_path / "x.zip")
    assert found.exit_code == 1
    assert "metrics.accuracy_own.value" in {one.field for one in found.differences}


def test_flipped_bit_without_the_checksum_of_the_block_is_refused(counts, tmp_path):
    members = read_zip(counts[1].path)
    name = min(name for name in members if name.startswith("audits/"))
    with np.load(io.BytesIO(members[name])) as archive:
        columns = {column: archive[column] for column in archive.files}
    flip_one_bit(columns["scores"], 0)
    content = io.BytesIO()
    np.savez(content, **columns)
    write_zip({**members, name: content.getvalue()}, tmp_path / "x.zip")
    with pytest.raises(BadInput, match="trials are missing or damaged"):
        api.verify(tmp_path / "x.zip")


def test_pickled_arrays_are_never_loaded(counts, tmp_path):
    members = read_zip(counts[1].path)
    name = min(name for name in members if name.startswith("audits/"))
    content = io.BytesIO()
    np.savez(content, **dict.fromkeys(("rounds", "header", "checksum"), np.array([{}], dtype=object)))
    write_zip({**members, name: content.getvalue()}, tmp_path / "x.zip")
    with pytest.raises(BadInput, match="trials are missing or damaged"):
        api.verify(tmp_path / "x.zip")


def test_difference_under_other_versions_is_one_and_names_them(counts, tmp_path):
    members = read_zip(counts[1].path)
    about = json.loads(members["bundle.json"])
    about["versions"]["numpy"] = "1.0"
    other = {"bundle.json": json.dumps(about).encode()}
    write_zip({**members, **other}, tmp_path / "x.zip")
    found = api.verify(tmp_path / "x.zip")
    assert (found.exit_code, len(found.other_versions), found.differences) == (3, 1, ())  # but for the report
    write_zip({**members, **other, **changed_verdicts(members)}, tmp_path / "x.zip")
    found = api.verify(tmp_path / "x.zip")
    assert (found.exit_code, len(found.other_versions)) == (1, 1)


@pytest.mark.parametrize(("name", "key"), [("bundle.json", "schema"), ("verdicts.json", "schema")])
def test_bundle_of_a_later_version_is_not_judged(counts, tmp_path, name, key):
    members = read_zip(counts[1].path)
    table = json.loads(members[name]) | {key: 99}
    write_zip({**members, name: json.dumps(table).encode()}, tmp_path / "x.zip")
    found = api.verify(tmp_path / "x.zip")
    assert found.exit_code == 3
    assert found.obstacle is not None


def test_incomplete_run_is_not_bundled(counts, tmp_path):
    folder, _ = counts
    shutil.copytree(folder / "run", tmp_path / "run")
    max((tmp_path / "run").rglob("audits/*/*/block-*.npz")).unlink()
    with pytest.raises(IncompleteRun, match="block 1"):
        api.bundle(tmp_path / "run")
    assert not (tmp_path / "run.zip").exists()


def test_transcripts_are_left_out_and_what_they_showed_is_kept(tmp_path):
    plan = {
        "seed": 4,
        "audit": [
            {
                "name": "promised",
                "domain": "queries",
                "rounds": 40,
                "block": 20,
                "data": {"records": 80},
                "mechanism": {"name": "laplace", "epsilon": 0.5},
                "attacks": [{"name": "split_likelihood", "queries": 8}],
                "challenger": {"accountant": "none", "promise": 3.0},
            }
        ],
    }
    result = api.run(plan, out=tmp_path / "run")
    assert result[0].certain
    written = api.bundle(tmp_path / "run")
    members = read_zip(written.path)
    assert not any("transcript" in name for name in members)
    assert any("2 transcripts" in text for text in written.left_out)
    assert json.loads(members["verdicts.json"])["verdicts"][0]["certain"]
    found = api.verify(written.path)
    assert (found.exit_code, found.not_compared) == (3, ("the transcripts",))


def test_name_in_a_place_that_is_shown_is_refused(tmp_path):
    hidden = HiddenValues(frozenset({NAMES[0]}), frozenset())
    (tmp_path / "plan.toml").write_text(f'name = "study-of-{NAMES[0]}"')
    with pytest.raises(BadInput, match=r"plan\.toml of the bundle would hold a name or path"):
        bundle_members(tmp_path, hidden, frozenset())


@pytest.mark.parametrize("name", ["manifest.json", "verdicts.json", "bundle.json"])
def test_files_with_missing_or_wrong_entries_are_refused_or_differ(counts, tmp_path, monkeypatch, name):
    """Whatever a tamperer leaves out, with all hashes made again, is no bug of leakgauge."""
    monkeypatch.setattr(api, "write_report", lambda folder, _: folder / "report.html")
    members = read_zip(counts[1].path)
    table = json.loads(members[name])
    table.pop("checksum", None)
    answers = []
    for key in table:
        for changed in ({**table, key: [7]}, {one: value for one, value in table.items() if one != key}):
            whole = {**changed, "checksum": json_digest(changed)} if name == "manifest.json" else changed
            write_zip({**members, name: json.dumps(whole).encode()}, tmp_path / "x.zip")
            try:
                answers.append(api.verify(tmp_path / "x.zip").exit_code)
            except BadInput as error:
                answers.append(str(error))
    assert all(answer in (0, 1, 3) or "x.zip: " in str(answer) for answer in answers)


@pytest.mark.parametrize("content", [{"digest": "of another run"}, None])
def test_the_bundle_of_another_run_is_not_replaced(counts, tmp_path, content):
    folder, path = counts[0], tmp_path / "taken.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt" if content is None else manifest.NAME, json.dumps(content))
    before = path.read_bytes()
    with pytest.raises(BadInput, match=r"taken\.zip: is there already and holds something else"):
        api.bundle(folder / "run", out=path)
    assert path.read_bytes() == before
    first = api.bundle(folder / "run", out=tmp_path / "own.zip")
    assert api.bundle(folder / "run", out=tmp_path / "own.zip").sha256 == first.sha256
