from leakgauge.core.guarantee import Unit
from leakgauge.pages.judged import Judged
from leakgauge.pages.sections.promises import section


def test_the_label_and_the_exact_law_stand_beside_the_promise(make, plain):
    promised = {
        "epsilon": 2207.0,
        "delta": 1e-5,
        "relation": "replace_one",
        "unit": "client",
        "nominal": {"epsilon": 1.0, "unit": Unit.EVENT},
        "exact_epsilon": 2206.6,
    }
    text = plain(section(Judged([make(promised=promised)], {})).html)
    assert "2,207 10⁻⁵ one client data in which it is replaced by another ε = 1 for one event 2,207" in text


def test_a_promise_may_say_little(make, plain):
    text = plain(section(Judged([make(promised={"epsilon": 1.0, "nominal": None})], {})).html)
    assert "counts-by-hour 1 – – – – –" in text


def test_without_a_promise_there_is_no_such_section(make):
    assert section(Judged([make("unpromised")], {})) is None
