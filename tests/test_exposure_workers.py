import pytest

from leakgauge import expose
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations import exposure
from leakgauge.support.exposure_rows import exposure_csv
from leakgauge.support.parallel import use_parallel_map
from leakgauge.theory import score_sums
from night import others_at_night

PEOPLE, PART = 150, 32
PLAN = {
    "seed": 3,
    "audit": [
        {
            "name": "city",
            "domain": "locations",
            "rounds": 10,
            "data": {"source": "synthetic", "users": PEOPLE, "sites": 4, "epochs": 24, "visits": 8},
            "mechanism": {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1},
            "challenger": {"group_size": "everyone", "relation": "add_remove", "splits": 1},
        }
    ],
}


@pytest.fixture(scope="module", autouse=True)
def small_work():
    """Small parts, all of them for workers, and few releases for attackers who have nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_sums, "PART", PART)
        patch.setattr(score_sums, "FEW_TARGETS", PART)
        patch.setattr(exposure, "_RELEASES", 2)
        yield


def numbers(exposures):
    """All numbers of all people: as bytes, and as the file of people."""
    columns = [
        column.tobytes()
        for each in exposures
        for attacker in each.exposure.against
        for column in (attacker.accuracy, attacker.auc, attacker.tpr, attacker.accuracies)
    ]
    return columns, exposure_csv([(each.audit, each.exposure) for each in exposures])


@pytest.fixture(scope="module")
def by_threads():
    return numbers(expose(PLAN))


@pytest.mark.parametrize(
    ("engine", "workers"),
    others_at_night([("local", 1), ("local", 2), ("dask", 2), ("ray", 2)], ("local", 1), ("local", 2)),
)
def test_numbers_do_not_depend_on_workers(by_threads, engine, workers):
    assert numbers(expose(PLAN, engine=engine, workers=workers)) == by_threads


def test_workers_get_their_own_people_only():
    sizes = []

    def spy(task, items):
        sizes.extend(cells.shape[0] for cells, _ in items)
        return [task(item) for item in items]

    with use_parallel_map(spy):
        expose(PLAN)
    assert len(sizes) > PEOPLE / PART
    assert max(sizes) <= PART


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be >= 1"),
        ({"engine": "spark"}, "no engine is called 'spark'"),
        ({"address": "tcp://127.0.0.1:1"}, "the local engine has none"),
    ],
)
def test_refuses_engines_that_cannot_be_opened(options, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        expose(PLAN, out=tmp_path / "here", **options)
    assert not (tmp_path / "here").exists()
