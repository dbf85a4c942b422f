from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections import data
from leakgauge.report.sections.data import section


def test_rows_read_and_skipped_are_shown_per_audit(make, plain):
    notes = {"v.csv: 3 rows read: 2 kept, 1 bad (first: line 4 (<time>))": ["a", "b"]}
    html = section(JudgedRun([make()], {"notes": notes})).html
    assert "1 bad (first: line 4 (<time>)) (audits a, b)" in plain(html)
    assert "<time>" not in html


def test_long_sweep_is_truncated(make, plain):
    notes = {"v.csv: 3 rows read: 3 kept": [f"a{i}" for i in range(9)]}
    assert "(audits a0, a1, a2, a3 and 5 more)" in plain(section(JudgedRun([make()], {"notes": notes})).html)


def test_omitted_files_are_counted(make, plain):
    notes = {f"v{i}.csv: 1 rows read: 1 kept": ["a"] for i in range(data.MOST_NOTES + 2)}
    assert "Shown are 20 of 22 files" in plain(section(JudgedRun([make()], {"notes": notes})).html)


def test_no_section_without_files(make):
    assert section(JudgedRun([make()], {})) is None
    assert section(JudgedRun([make()], {"notes": {}})) is None
