"""The game in which every attack on models is tested."""

SEPARATES_ALL = False  # a model does not keep all that it was trained on
BLIND_ROUNDS = 400  # models are trained one by one
SHARED_RELEASES = True  # models are trained once for all attacks on the same game
AT_NIGHT = ("one_threshold", "two_threshold")  # they read what trajectory_likelihood reads


LOOP = """
import numpy as np

def train(watch, rng, steps=100):
    weights = np.zeros(6)
    for _ in range(steps):
        gradients = watch.add_canary(rng.normal(size=(8, 6)) - weights, clip=1.0)
        lengths = np.linalg.norm(gradients, axis=1)
        total = np.minimum(1.0, 1.0 / lengths) @ gradients
        noisy = total + {noise} * rng.normal(size=6)
        watch.step(total, noisy)
        weights = weights + 1e-9 * noisy

def train_with(canaries, watch, rng):
    return 1.0 - canaries + watch.noise_multiplier({noise}) * rng.normal(size=len(canaries))
"""
CLAIM = {"epsilon": 4.0, "sample_rate": 1.0, "steps": 10}


def watched(noise, folder, **options):
    """A DP training of the user's own."""
    (folder / "loop.py").write_text(LOOP.replace("{noise}", repr(noise)))
    return {"challenger": {"claim": CLAIM, **options}, "mechanism": {}}


def tables(noise, folder, attack):
    """A record with a wrong label, learned by heart if nothing hides it; or the component of all members."""
    small = {"members": 12, "targets": 1, "epochs": 30, "batch": 12, "hidden": [], "rate": 1.0}
    far = {"rows": 240, "features": 12, "distance": 30.0, "flip": 0.0}
    mixed = {"game": "mixture", "dependence": {"name": "source", "group": "component"}}
    fixed = {"game": "group", "dependence": {"name": "source", "group": "component", "members": "0"}}
    loud = {"name": "dp_sgd", "sigma": noise, "relation": "replace_one"}
    match attack:
        case "strong":
            return {"data": far, "challenger": small | {"game": "strong", "epochs": 4}, "mechanism": loud}
        case "property_first":
            return {"data": far, "challenger": small | mixed, "mechanism": loud}
        case "blind":  # the naked game is one whose members are known by their looks
            rules = fixed | {"targets": 2} if noise < 1 else mixed
            return {"data": far, "challenger": small | rules, "mechanism": loud}
        case "gradient_canary":
            return watched(noise, folder, dp_training="loop:train")
        case "canary_loss":
            return watched(noise, folder, dp_training="loop:train_with", canaries=50)
        case "likelihood":
            mean = {"name": "laplace", "scale": noise}
            return {"data": {"source": "constants"}, "challenger": {"members": 5} | mixed, "mechanism": mean}
        case _:
            odd = {"rows": 240, "features": 200, "flip": 0.0}
            learner = small | {"mislabel": True, "rate": 10.0}
            return {"data": odd, "challenger": learner, "mechanism": loud}
