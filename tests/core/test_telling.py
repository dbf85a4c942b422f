"""News of long work reaches whoever listens, and nobody else."""

from leakgauge.core.telling import tell, telling


def test_news_reach_whoever_listens_and_then_nobody():
    heard = []
    tell("before")
    with telling(heard.append):
        tell("epoch 1 of 2")
        with telling(lambda _: None):
            tell("to another one")
        tell("epoch 2 of 2")
    tell("after")
    assert heard == ["epoch 1 of 2", "epoch 2 of 2"]
