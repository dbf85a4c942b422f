"""The game in which every attack on federated is tested."""

from pathlib import Path
from runpy import run_path

BLIND_ROUNDS = 400  # clients are run one by one
AT_NIGHT = ("planted_layers",)  # its clients are run by a process of their own
UPDATE_BOUND = 100.0  # honest updates are far smaller; crafted weights would make them as large as any noise
_VARIANTS = Path(__file__).parent / "flower_app" / "app_variants.py"


def tables(noise, folder, attack):
    """A batch of five rows of many features, in which one stands out if nothing hides it."""
    if attack in AT_NIGHT:
        return app_tables(noise, folder)
    return {
        "data": {"rows": 600, "features": 64, "classes": 2},
        "challenger": {"targets": 1, "batch": 5, "neurons": 4},
        "mechanism": {"name": "feature_laplace", "scale": noise},
    }


def app_tables(noise, folder):
    """A Flower app whose client clips its update and adds noise.

    Without the bound no noise hides everything: the server chooses weights whose update exceeds it.
    """
    project = folder / f"noise-{noise}"
    if not project.exists():
        run_path(str(_VARIANTS))["clipped_noisy_update"](UPDATE_BOUND, noise)(project)
    return {
        "challenger": {"app": str(project / "project"), "data_hook": "task:load_data", "targets": 1},
        "mechanism": {},
    }
