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


def test_noise_for_a_day_is_played_as_noise_for_a_visit_where_that_is_played_too():
    day = Release(epsilon=5.0, unit="user-day", k=1)
    assert day.played_as(10) == Release(epsilon=0.5, k=1)
    assert day.played_as(20) == day  # 0.25 is no budget of the paper
    assert Release(epsilon=0.5).played_as(10) == Release(epsilon=0.5)
    assert Release(k=2).played_as(10) == Release(k=2)
