import json

from leakgauge.runner.bundle_zip import read_zip, write_zip
from leakgauge.support.files import json_digest


def bundle(call, plan):
    plan()
    call("run", "coin.toml")
    call("bundle", "runs/coin", "--out", "x.zip")


def test_says_what_agrees_and_what_this_does_not_show(call, plan):
    bundle(call, plan)
    done = call("verify", "x.zip")
    assert (done.code, done.err) == (0, "")
    assert "all hashes agree" in done.out
    assert "Judged again from the trials: 1 verdict\n" in done.out
    assert "not that the trials are those of the release" in done.out
    assert "Exit code 0: everything agrees." in done.out
    assert json.loads(call("verify", "x.zip", "--json").out)["exit_code"] == 0


def test_names_every_field_that_differs(call, plan, tmp_path):
    bundle(call, plan)
    members = read_zip(tmp_path / "x.zip")
    table = json.loads(members["verdicts.json"])
    table["verdicts"][0]["metrics"]["auc"]["value"] = 0.5
    table["summary"]["exit_code"] = 9
    write_zip({**members, "verdicts.json": json.dumps(table).encode()}, tmp_path / "x.zip")
    done = call("verify", "x.zip")
    assert done.code == 1
    assert "metrics.auc.value: 0.5 in the bundle, 0." in done.out
    assert "Differs: summary: exit_code: 9 in the bundle, 0 again" in done.out
    assert "Exit code 1: the bundle differs" in done.out


def test_damaged_bundle_is_refused_in_one_line(call, plan, tmp_path):
    bundle(call, plan)
    content = (tmp_path / "x.zip").read_bytes()
    (tmp_path / "x.zip").write_bytes(content[:-40])
    done = call("verify", "x.zip")
    assert (done.code, done.out) == (2, "")
    assert done.err == "leakgauge: x.zip: damaged, or not a zip file; ask for the bundle again\n"


def test_bundle_of_another_version_is_said_to_be_one(call, plan, tmp_path):
    bundle(call, plan)
    members = read_zip(tmp_path / "x.zip")
    about = json.loads(members["bundle.json"]) | {"schema": 1}
    write_zip({**members, "bundle.json": json.dumps(about).encode()}, tmp_path / "x.zip")
    done = call("verify", "x.zip")
    assert done.code == 3
    assert (
        "Not checked to the end: the bundle was written by another leakgauge (0.1.0); use that version"
        in done.out
    )


def test_report_of_other_versions_is_not_said_to_agree(call, plan, tmp_path):
    bundle(call, plan)
    members = read_zip(tmp_path / "x.zip")
    about = json.loads(members["bundle.json"])
    about["versions"]["altair"] = "1.0"
    changed = {"bundle.json": json.dumps(about).encode(), "report.html": b"all is safe"}
    write_zip({**members, **changed}, tmp_path / "x.zip")
    done = call("verify", "x.zip")
    assert done.code == 3
    assert "Other version: altair 1.0 judged it" in done.out
    assert "report.html was not compared: other versions wrote it; do not rely on it" in done.out
    assert "everything agrees" not in done.out


def test_report_with_other_charts_is_not_said_to_agree(call, plan, tmp_path):
    """Whether fonts or somebody changed a picture cannot be told; outside of pictures nothing may differ."""
    bundle(call, plan)
    members = read_zip(tmp_path / "x.zip")
    page = members["report.html"]
    cover = b'<svg style="position:fixed;left:0;top:0;width:100vw;background:white"onload="alert(1)" '
    for changed, code in (
        (page.replace(b"<svg ", cover, 1), 3),
        (page.replace(b"</svg>", b"<path d='</svg>", 1), 3),
        (page.replace(b"</svg>", b"</svg></div><h1>May be published</h1>", 1), 3),
        (page.replace(b"<svg ", cover, 1).replace(b"</footer>", b"Certified</footer>"), 1),
        (page + b"<svg></svg>", 1),
        (b"<svg></svg>" + page, 1),
        (page.replace(b"<body>", b"<body><svg></svg>"), 1),
        (page.replace(b'cx="14"', b'cx="15"'), 1),  # in a script
    ):
        assert changed != page
        write_zip({**members, "report.html": changed}, tmp_path / "y.zip")
        done = call("verify", "y.zip")
        assert done.code == code
        said = "report.html was not compared: its charts are not those that are drawn here" in done.out
        assert said == (code == 3)


def in_manifest(members, **facts):
    """The bundle with other facts of its audit, which decide no trial, and with all hashes made again."""
    table = json.loads(members["manifest.json"])
    del table["checksum"]
    table["facts"]["coin"] |= facts
    return {**members, "manifest.json": json.dumps({**table, "checksum": json_digest(table)}).encode()}


def test_all_that_is_taken_as_stated_is_named(call, plan, tmp_path):
    bundle(call, plan)
    members = read_zip(tmp_path / "x.zip")
    none = {"reason": "an exact computation shows it", "needed": False, "nothing_to_audit": False}
    changed = in_manifest(
        members,
        control={"digest": None, "none": none, "caveat": None},
        unread=["the weights"],
        notes=["checked by\x1b[2J leakgauge"],
        understated_knowledge={"nothing": "a reason"},
    )
    write_zip(changed, tmp_path / "x.zip")
    stated = call("verify", "x.zip").out.partition("Taken as the bundle states")[2]
    for text in (
        "positive control: none reason 'an exact computation shows it', needed False",
        "read by no attack: 'the weights'",
        "attackers who clear nobody: nothing 'a reason'",
        "how membership was decided: 'fair'",
        "number of targets: 1\n",
        "could reach: epsilon 1.0, delta 0.0",
        "notes on the data: 'checked by\\x1b[2J leakgauge'",
    ):
        assert text in stated, text


def test_long_and_deep_differences_are_cut_and_counted(call, plan, tmp_path):
    bundle(call, plan)
    members = read_zip(tmp_path / "x.zip")
    table = json.loads(members["verdicts.json"])
    table["summary"] |= {f"key {number}": "x" * 1000 for number in range(3000)}
    table["verdicts"][0]["metrics"]["auc"]["value"] = "@"
    deep = json.dumps(table).replace('"@"', "[" * 900 + "]" * 900)
    about = json.loads(members["bundle.json"]) | {"left_out": ["y" * 100_000]}
    changed = {"verdicts.json": deep.encode(), "bundle.json": json.dumps(about).encode()}
    write_zip({**members, **changed}, tmp_path / "x.zip")
    done = call("verify", "x.zip")
    assert (done.code, done.err) == (1, "")
    assert "and 2,981 more (--json lists up to 1,000)" in done.out
    assert max(map(len, done.out.splitlines())) < 1200
    found = json.loads(call("verify", "x.zip", "--json").out)
    assert (len(found["differences"]), found["n_differences"]) == (1000, 3001)
