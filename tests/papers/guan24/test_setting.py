import tomllib

from leakgauge.papers.guan24.setting import KNOCK, ZERO, Release


def test_a_release_is_written_as_a_mechanism():
    noisy = tomllib.loads(f"it = {Release(epsilon=0.5, unit='user-day', k=2).plan}")["it"]
    assert noisy == {
        "name": "laplace",
        "epsilon": 0.5,
        "unit": "user-day",
        "round": True,
        "clamp": True,
        "suppress": 2,
    }
    assert tomllib.loads(f"it = {Release(k=3).plan}")["it"] == {"name": "raw", "suppress": 3}


def test_releases_have_names_of_their_own():
    releases = [
        Release(k=1),
        Release(k=1, m=100),
        Release(k=1, epsilon=1.0),
        Release(k=1, epsilon=1.0, unit="user-day"),
    ]
    assert len({release.name for release in releases}) == len({release.words for release in releases}) == 4


def test_a_player_with_something_besides_keeps_the_rest():
    player = ZERO.but("half", known="trace = 0.5")
    line = tomllib.loads(f"it = [{player.plan}]")["it"][0]
    assert line == {
        "name": "shadow_logistic",
        "knowledge": {"name": "zero", "trace": 0.5},
        "marginals": "guan24",
        "label": "zero-knowledge-half",
    }
    assert player.colour == ZERO.colour != KNOCK.colour
