"""Asks the local model about real folders: `python -m tests.bench local`.

The folders are the sources of five packages of the package index, fetched by version and checked by sha256. The questions
and what their answers must hold stand in questions/; those marked `tuned_on` were looked at while the search was made,
those of humanize were not. An answer is right if it holds the fact (in at most 400 characters), an honest refusal if it
says that nothing was found, and else wrong, a failed run included. The questions that no file answers are counted apart:
there a refusal is right.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .tree import ROOT

QUESTIONS = Path(__file__).parent / "questions"
REFUSAL = "I found nothing about that in these files"
_MOST_CHARACTERS = 400
_KINDS = ("right", "refused", "wrong")


@dataclass(frozen=True)
class Asked:
    """A question that was asked: of which package, whether its answer is there, and what came of it in how many seconds."""

    package: str
    group: str
    question: str
    answer: str
    kind: str
    seconds: float


def main(arguments: list[str]) -> None:
    """Ask all questions and print how they were answered."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench local", description=__doc__)
    parser.add_argument("--only", choices=[path.stem for path in _files()], help="one of the packages")
    parser.add_argument("--tuned", action="store_true", help="only the questions that the search was tuned on")
    parser.add_argument("--answers", action="store_true", help="print each question with its answer")
    parser.add_argument("--model", default="local", help="an alias or a name, such as gguf:FILE")
    given = parser.parse_args(arguments)
    asked: list[Asked] = []
    for path in _files():
        if given.only in (None, path.stem):
            for each in _ask(json.loads(path.read_text(encoding="utf-8")), given.model, given.tuned):
                asked.append(each)
                if given.answers:
                    print(f"{each.kind:8} {each.package:14} {each.question}\n         {each.answer!r}", flush=True)
    print("\n".join(_table(asked)))


def sdist_of(package: dict[str, Any]) -> Path:
    """The source archive of a package under .bench/, fetched by pip where it is not there yet."""
    folder = ROOT / ".bench" / "local"
    archive: Path = folder / package["sdist"]
    if not archive.is_file():
        wanted = f"{package['package']}=={package['version']}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package["package"]]
        subprocess.run([*command, "--dest", str(folder), wanted], check=True)
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package["sha256"]:
        raise SystemExit(f"{archive}: its sha256 is {found}, not that of the file that the questions were written for")
    return archive


def _files() -> list[Path]:
    return sorted(QUESTIONS.glob("*.json"))


def _ask(package: dict[str, Any], model: str, tuned: bool) -> Iterator[Asked]:
    """Ask the questions of one package, each in a run of its own; the model is loaded before the first."""
    import engine

    archive = sdist_of(package)
    # outside of the checkout, whose .gitignore would hide it
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
        root = Path(folder) / archive.name.removesuffix(".tar.gz")
        with engine.open(Path(folder) / "answers.db") as db:
            db.run("Hello", root=root, model=model, mode="ask")
            for each in package["questions"]:
                if each["tuned_on"] or not tuned:
                    answer, seconds = _answer(db, root, model, each["ask"])
                    group = "tuned on" if each["tuned_on"] else "held out"
                    yield Asked(package["package"], group, each["ask"], answer, _kind(answer, each["answer"]), seconds)
            for ask in [] if tuned else package["absent"]:
                answer, seconds = _answer(db, root, model, ask)
                kind = "right" if REFUSAL in answer else "wrong"
                yield Asked(package["package"], "not there", ask, answer, kind, seconds)


def _answer(db: Any, root: Path, model: str, question: str) -> tuple[str, float]:
    began = time.monotonic()
    result = db.run(question, root=root, model=model, mode="ask")
    answer = result.answer if result.status == 200 else f"(status {result.status}) {result.answer}"
    return answer or "", time.monotonic() - began


def _kind(answer: str, pattern: str) -> str:
    if REFUSAL in answer:
        return "refused"
    fits = len(answer) <= _MOST_CHARACTERS and not answer.startswith("(status")
    return "right" if fits and re.search(pattern, answer, re.MULTILINE) else "wrong"


def _table(asked: list[Asked]) -> Iterator[str]:
    """A line a package, one for each group of questions, and one for those whose answer is there together."""
    yield f"{'':28}{'asked':>6}{'right':>7}{'refused':>9}{'wrong':>7}{'seconds each':>14}"
    there = [each for each in asked if each.group != "not there"]
    for package in dict.fromkeys(each.package for each in asked):
        yield _line(package, [each for each in there if each.package == package])
    for group in ("tuned on", "held out"):
        yield _line(f"all, {group}", [each for each in there if each.group == group])
    yield _line("all", there)
    yield _line("all, answer not there", [each for each in asked if each.group == "not there"])


def _line(name: str, asked: list[Asked]) -> str:
    counts = Counter(each.kind for each in asked)
    right, refused, wrong = (counts[kind] for kind in _KINDS)
    seconds = sum(each.seconds for each in asked) / max(len(asked), 1)
    return f"{name:28}{len(asked):>6}{right:>7}{refused:>9}{wrong:>7}{seconds:>14.1f}"
