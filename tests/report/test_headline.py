from leakgauge.report.headline import all_promises_too_weak


def test_only_huge_epsilons_are_too_weak(make):
    promised = {"epsilon": 666.0, "delta": 0.0, "relation": "add_remove", "unit": "user"}
    weak = make("undecided", promised=promised)
    assert all_promises_too_weak([weak, weak])
    assert not all_promises_too_weak([weak, make("undecided")])
    assert not all_promises_too_weak([weak, make("violated", promised=promised)])
