"""The game in which every attack on federated is tested."""

BLIND_ROUNDS = 400  # clients are run one by one


def tables(noise, folder, attack):
    """A batch of five rows of many features, in which one stands out if nothing hides it."""
    return {
        "data": {"rows": 600, "features": 64, "classes": 2},
        "challenger": {"targets": 1, "batch": 5, "neurons": 4},
        "mechanism": {"name": "feature_laplace", "scale": noise},
    }
