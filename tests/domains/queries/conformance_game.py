"""The game in which every attack on queries is tested."""


def tables(noise, folder, attack):
    """Five answers about a record; without noise, from an oracle whose refusals depend on who is there."""
    accountant = "per_row" if noise < 1 else "sequential"
    return {
        "data": {"records": 200},
        "challenger": {"budget": 5 / noise, "accountant": accountant},
        "mechanism": {"name": "laplace", "scale": noise},
    }
