from leakgauge.report.adversary_names import adversary_names


def test_names_are_short_if_unambiguous(make):
    one_audit = [make(label="a"), make(label="b")]
    assert adversary_names(one_audit, one_audit) == ["a", "b"]
    two_audits = [make(audit="x"), make(audit="y")]
    assert adversary_names(two_audits, two_audits) == ["x", "y"]
    both = [make(audit="x", label="a"), make(audit="y", label="a"), make(audit="y", label="b")]
    assert adversary_names(both[1:], both) == ["y · a", "y · b"]


def test_sweep_points_are_named_by_settings(swept):
    assert adversary_names(swept, swept)[0] == "epsilon=0.1,suppress=0"


def test_truncated_names_stay_unique(make):
    alike = [make(label="x" * 80 + str(place) + "y" * 80) for place in range(3)]
    assert len(set(adversary_names(alike, alike))) == 3
