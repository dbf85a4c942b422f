"""Draw the pictures of locations.md and write their numbers: ``python docs/pictures/make.py``.

This takes four minutes on one core. The same version of leakgauge draws the same pictures.
"""

from attack_success import draw_crossover, draw_epsilons
from city import SEED, visits_folder, write_numbers
from person_exposure import draw_counts, draw_exposure, draw_visits
from release_choices import draw_caps, draw_choices, draw_people
from svg_charts import FOLDER

if __name__ == "__main__":
    with visits_folder() as folder:
        numbers = {
            "seed": SEED,
            "counts": draw_counts(folder),
            "epsilon": draw_epsilons(),
            "exposure": draw_exposure(folder),
            "visits": draw_visits(folder),
            "caps": draw_caps(folder),
            "choices": draw_choices(folder),
            "people": draw_people(folder),
            "crossover": draw_crossover(),
        }
    write_numbers(numbers, FOLDER / "numbers.json")
