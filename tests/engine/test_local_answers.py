"""The local model through `engine run` itself: short questions over a folder of small files.

Names and figures are drawn, always the same ones; two files are decoys with figures of the same kind.

spec: @compact_profile @local_model
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from audit import audit
from engine_cli import database, engine, environment

from engine.models.weights import install_weights

ROOT = Path(__file__).parent.parent.parent

pytestmark = [pytest.mark.local_model, pytest.mark.slow]

FIRST = ["Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hana", "Ivo", "Jonas", "Kaja", "Leon"]
LAST = ["Abel", "Brandt", "Costa", "Dietz", "Egger", "Fuchs", "Graf", "Huber", "Iten", "Jost", "Keller", "Lang"]
GOODS = ["lamp oil", "rope", "chalk", "copper wire", "sailcloth", "varnish", "candles", "hinges", "nails", "felt"]
DISHES = ["plum cake", "lentil soup", "walnut bread", "onion tart", "rice pudding"]
SEED = 1
TOOLS = ["crane", "sawmill", "ferry", "greenhouse", "weather station", "wind pump"]


def _folder(at: Path, dice: random.Random) -> list[tuple[str, str]]:
    """Write the files; the questions, each with the figure that its answer must hold."""
    people = [f"{first} {last}" for first, last in zip(dice.sample(FIRST, 6), dice.sample(LAST, 6), strict=True)]
    phones = {person: f"{dice.randint(100, 999)}-{dice.randint(1000, 9999)}" for person in people}
    goods = {name: dice.randint(11, 989) for name in dice.sample(GOODS, 6)}
    port, workers, flour, bake = (
        dice.randint(low, high) for low, high in ((2000, 9999), (3, 64), (150, 900), (21, 95))
    )
    dish, tool, height = dice.choice(DISHES), dice.choice(TOOLS), dice.randint(12, 380)
    budget = dice.randint(1100, 9800)
    files = {
        "settings.ini": f"[server]\nhost = 10.0.0.{dice.randint(2, 250)}\nport = {port}\nworkers = {workers}\n",
        "stock.csv": "item,pieces\n" + "".join(f"{name},{count}\n" for name, count in goods.items()),
        "contacts.txt": "".join(f"{person}: {phone}\n" for person, phone in phones.items()),
        "recipe.md": f"# Recipe: {dish}\n\n- Flour: {flour} g\n- Eggs: {dice.randint(2, 9)}\n"
        f"- Baking time: {bake} minutes\n",
        "notes.md": f"# Notes\n\nThe {tool} is {height} metres high.\nThe budget for repairs is {budget} francs.\n",
        "poem.txt": f"The moon went up at {dice.randint(1, 12)},\nthe tide came in at {dice.randint(1, 12)}.\n",
        "old-diary.md": f"We counted {dice.randint(20, 99)} gulls and {dice.randint(20, 99)} terns on the pier.\n",
    }
    for name, text in files.items():
        (at / name).write_text(text)
    person, other = dice.sample(people, 2)
    good, second = dice.sample(sorted(goods), 2)
    return [
        ("Which port does the server use?", str(port)),
        ("How many workers does the server have?", str(workers)),
        (f"How many pieces of {good} are in stock?", str(goods[good])),
        (f"How many pieces of {second} are in stock?", str(goods[second])),
        (f"What is the phone number of {person}?", phones[person]),
        (f"What is the phone number of {other}?", phones[other]),
        (f"What is the baking time of the {dish}?", str(bake)),
        (f"How high is the {tool}?", str(height)),
    ]


def _answer(folder: Path, *command: str) -> str:
    """What Python prints that is run in `folder` with the weights of whoever tests, and with no other model."""
    cache = str(install_weights().parent)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment(folder) | {"ENGINE_CACHE": cache, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_most_short_questions_over_a_folder_get_the_right_figure(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    wrong = []
    for question, figure in _folder(root, random.Random(SEED)):
        done = engine(root, "run", question, env={"ENGINE_CACHE": str(install_weights().parent)})
        assert done.returncode == 0, done.stderr
        if figure not in done.stdout:
            wrong.append((question, figure, done.stdout))
    assert len(wrong) <= 2, wrong
    audit(database(root))


def test_the_python_of_the_readme_gets_its_answer(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    assert _answer(tmp_path, "-c", code).startswith("port = 9107 200 ")
    audit(tmp_path / "agent.db")
