"""Draws pictures as SVG, in dark and in light: lines of a terminal, and boxes with arrows, without fonts or scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

_CHAR, _LINE, _PAD, _SIZE = 7.8, 18, 16, 13
_STYLE = """<style>
  .sheet { fill: #f6f8fa; stroke: #d0d7de; } .box { fill: #ffffff; stroke: #8c959f; }
  .plain { fill: #1f2328; } .dim { fill: #656d76; } .added { fill: #116329; } .removed { fill: #a40e26; }
  .command { fill: #0550ae; font-weight: bold; } .said { fill: #1f2328; font-weight: bold; }
  .arrow { stroke: #656d76; fill: none; } .head { fill: #656d76; }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; }
  @media (prefers-color-scheme: dark) {
    .sheet { fill: #0d1117; stroke: #30363d; } .box { fill: #161b22; stroke: #6e7681; }
    .plain, .said { fill: #e6edf3; } .dim { fill: #8d96a0; } .added { fill: #7ee787; } .removed { fill: #ffa198; }
    .command { fill: #79c0ff; } .arrow { stroke: #8d96a0; } .head { fill: #8d96a0; }
  }
</style>"""
_BLANK = "\N{NO-BREAK SPACE}"
"""Others would be drawn as one by programs that know no `white-space`."""
_LONGEST = 98
"""Characters of a line; a longer one is cut."""


def terminal(session: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The commands of a session with what they print."""
    lines: list[tuple[str, str]] = []
    for command, printed in session:
        lines += [("", "plain")] if lines else []
        lines.append((f"$ {command}", "command"))
        lines += [(_cut(line), _kind(line)) for line in printed]
    width = 2 * _PAD + _CHAR * max(len(text) for text, _ in lines)
    height = 2 * _PAD + _LINE * len(lines)
    texts = (_text(number, text, kind) for number, (text, kind) in enumerate(lines) if text.strip())
    return _sheet(width, height, "A session with engine at a terminal", texts)


def _text(number: int, text: str, kind: str) -> str:
    words = text.lstrip()
    x = _PAD + _CHAR * (len(text) - len(words))
    y = _PAD + _LINE * number + _SIZE
    return f'<text x="{x:.0f}" y="{y}" class="{kind}">{escape(words).replace(" ", _BLANK)}</text>'


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _kind(line: str) -> str:
    text = line.strip()
    if text.startswith(("+", "-")) and line.startswith("  "):
        return "dim" if text.startswith(("+++", "---")) else "added" if text.startswith("+") else "removed"
    return "dim" if line.startswith(("[", "run ", "  @@")) else "plain"


_STEPS = (
    ("run", "a prompt is a row in the file"),
    ("packet", "views choose what the model sees, within a budget"),
    ("model", "any provider, or a model on this machine"),
    ("dispatch", "triggers read the answer: commands become rows"),
    ("proposals", "edits and shell commands wait for your yes, or a policy"),
    ("effects", "files are written, processes run in a sandbox"),
    ("verdict", "views decide: another turn, an end, or wait"),
)


def way() -> str:
    """The way of a turn, from the prompt to the verdict and back to the next packet."""
    width, step, left = 700, 52, 60
    parts: list[str] = []
    for number, (name, told) in enumerate(_STEPS):
        top = _PAD + number * step
        parts.append(f'<rect x="{left}" y="{top}" width="110" height="32" rx="6" class="box"/>')
        parts.append(f'<text x="{left + 55}" y="{top + 21}" text-anchor="middle" class="said">{escape(name)}</text>')
        parts.append(f'<text x="{left + 128}" y="{top + 21}" class="dim">{escape(told)}</text>')
        if number:
            parts.append(f'<path d="M{left + 55} {top - 20} V{top - 4}" class="arrow"/>')
            parts.append(f'<path d="M{left + 51} {top - 7} l4 6 l4 -6 z" class="head"/>')
    first, last = _PAD + step + 16, _PAD + (len(_STEPS) - 1) * step + 16
    parts.append(f'<path d="M{left} {last} H{left - 28} V{first} H{left - 6}" class="arrow"/>')
    parts.append(f'<path d="M{left - 7} {first - 4} l6 4 l-6 4 z" class="head"/>')
    x, y = left - 36, (first + last) // 2
    turned = f'transform="rotate(-90 {x} {y})"'
    parts.append(f'<text x="{x}" y="{y}" class="dim" text-anchor="middle" {turned}>next turn</text>')
    return _sheet(width, 2 * _PAD + (len(_STEPS) - 1) * step + 32, "The way of a turn", parts)


def _sheet(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join(_lines(size, title, parts)) + "\n"


def _lines(size: str, title: str, parts: Iterable[str]) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    yield f"<title>{escape(title)}</title>"
    yield _STYLE
    yield '<rect x="0.5" y="0.5" width="99.8%" height="99.5%" rx="8" class="sheet"/>'
    yield from parts
    yield "</svg>"
