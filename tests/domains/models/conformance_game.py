"""The game in which every attack on models is tested."""

SEPARATES_ALL = False  # a model does not keep all that it was trained on
BLIND_ROUNDS = 400  # models are trained one by one
SHARED_RELEASES = True  # models are trained once for all attacks on the same game


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
        case "likelihood":
            mean = {"name": "laplace", "scale": noise}
            return {"data": {"source": "constants"}, "challenger": {"members": 5} | mixed, "mechanism": mean}
        case _:
            odd = {"rows": 240, "features": 200, "flip": 0.0}
            learner = small | {"mislabel": True, "rate": 10.0}
            return {"data": odd, "challenger": learner, "mechanism": loud}
