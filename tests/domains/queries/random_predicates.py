"""Predicates drawn at random, as texts."""

COLUMNS = {
    "id": ["0", "3", "4.5", "7", "-1"],
    "age": ["25", "30", "30.5", "45", "60", "1e1"],
    "income": ["0.5", "20", "-40.0", "61.25"],
    "region": ["'north'", "'south'", "'it''s'", "''"],
    "since": ["'2020-01-03'", "'2020-01-05 12:00:00'"],
}
SIGNS = ["=", "<>", "<", "<=", ">", ">="]


def single_test(rng, columns):
    """A single test of one column."""
    name = str(rng.choice(list(columns)))
    values = columns[name]
    value, other = rng.choice(values), rng.choice(values)
    spelled = name.upper() if rng.random() < 0.2 else f'"{name}"' if rng.random() < 0.2 else name
    ways = [
        f"{spelled} {rng.choice(SIGNS)} {value}",
        f"{value} {rng.choice(SIGNS)} {spelled}",
        f"{spelled} {'NOT ' if rng.random() < 0.5 else ''}IN ({value}, {other})",
        f"{spelled} {'NOT ' if rng.random() < 0.3 else ''}BETWEEN {value} AND {other}",
        f"{spelled} IS {'NOT ' if rng.random() < 0.5 else ''}NULL",
    ]
    if name == "region":
        ways.append(f"{spelled} {'NOT ' if rng.random() < 0.5 else ''}{rng.choice(['LIKE', 'ILIKE'])} 'n%'")
        ways.append(f"lower({spelled}) = {value}")
    return str(rng.choice(ways))


def predicate(rng, depth=3, columns=COLUMNS, *, truths=True):
    """A predicate of tests, joined and negated."""
    draw = rng.random()
    if depth == 0 or draw < 0.3:
        if truths and rng.random() < 0.15:
            return str(rng.choice(["smoker", "NOT smoker", "smoker = false", "true", "1 = 2"]))
        return single_test(rng, columns)
    if draw < 0.45:
        return f"NOT ({predicate(rng, depth - 1, columns, truths=truths)})"
    connective = str(rng.choice([" AND ", " OR "]))
    parts = [predicate(rng, depth - 1, columns, truths=truths) for _ in range(int(rng.integers(2, 4)))]
    return "(" + connective.join(parts) + ")"
