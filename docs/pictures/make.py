"""Make the pictures of locations.md, and numbers.json with what they show: ``python docs/pictures/make.py``.

Two minutes on one core. The same version of leakgauge makes the same pictures.
"""

from attacking import draw_crossover, draw_epsilons
from choosing import draw_caps, draw_choices
from city import SEED, visits_folder, write_numbers
from drawing import FOLDER
from people import draw_counts, draw_exposure, draw_visits

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
            "crossover": draw_crossover(),
        }
    write_numbers(numbers, FOLDER / "numbers.json")
