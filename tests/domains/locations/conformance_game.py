"""The game in which every attack on locations is tested."""


def tables(noise, folder, attack):
    """Somebody who goes where nobody else goes, and a crowd that goes elsewhere."""
    lonely = [("them", hour, "edge") for hour in range(12)]
    crowd = [(f"p{i}", (7 * i + 5 * k) % 24, f"s{(i + k) % 4}") for i in range(120) for k in range(4)]
    rows = "\n".join(f"{user},{hour},{place}" for user, hour, place in lonely + crowd)
    (folder / "visits.csv").write_text(f"user,time,place\n{rows}\n")
    return {
        "data": {"source": "visits.csv", "time_unit": "h", "origin": "2024-05-06", "epoch": "1h"},
        "challenger": {"group_size": 40, "splits": 1, "targets": {"n": 1, "min_visits": 12}},
        "mechanism": {"name": "laplace", "scale": noise},
    }
