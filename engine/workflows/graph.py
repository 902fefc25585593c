"""Draws the steps of a workflow and what each of them needs: as lines of text, or as SVG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element  # type: ignore[import-untyped]

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff]")
_CHARACTER, _HEIGHT, _PADDING = 7.4, 44, 14
"""In pixels: the width of a character of the font, the height of a box, and what is left free around its text."""
_GAP, _LAYER_GAP, _MARGIN = 18, 70, 20
_WIDEST = 40
"""Characters of a line in a box; what is longer is cut."""
_COLOURS = {
    "waiting": ("#f6f6f6", "#8a8a8a"),
    "running": ("#fff4d6", "#b07d00"),
    "completed": ("#e3f4e3", "#2c7a2c"),
    "failed": ("#fbe3e3", "#b02a2a"),
    "cancelled": ("#fbe3e3", "#8a8a8a"),
    "skipped": ("#f6f6f6", "#c4c4c4"),
}
"""Of each state the colour inside of a box and that of its border."""


@dataclass(frozen=True)
class Step:
    """A step as it is drawn; `state` is that in a run, '' in a workflow."""

    name: str
    layer: int
    needs: Sequence[str] = field(default_factory=tuple)
    title: str = ""
    state: str = ""


def as_text(steps: Iterable[Step]) -> str:
    """A line for each step, layer by layer: those of one layer can work at once."""
    shown = list(steps)
    widest = max((len(step.name) for step in shown), default=0)
    lines, layer = [], 0
    for step in sorted(shown, key=lambda each: each.layer):
        number = "" if step.layer == layer else str(step.layer)
        layer = step.layer
        state = f"  {step.state:9}" if step.state else ""
        needs = f"  needs {', '.join(step.needs)}" if step.needs else ""
        title = f"  {clean(step.title)}" if step.title else ""
        lines.append(f"{number:>3}  {step.name:{widest}}{state}{title}{needs}".rstrip())
    return "\n".join(lines)


def as_svg(name: str, steps: Sequence[Step]) -> str:
    """An SVG picture: a row of boxes for each layer, and a line from each step to those that need it."""
    from lxml import etree  # type: ignore[import-untyped]

    places, width, height = _places(steps)
    svg = etree.Element(
        "svg",
        nsmap={None: "http://www.w3.org/2000/svg"},
        attrib={
            "viewBox": f"0 0 {width:.0f} {height:.0f}",
            "width": f"{width:.0f}",
            "height": f"{height:.0f}",
            "role": "img",
            "font-family": "ui-monospace, monospace",
            "font-size": "12",
        },
    )
    etree.SubElement(svg, "title").text = clean(name)
    for step in steps:
        for needed in step.needs:
            if needed in places:
                _line(svg, places[needed], places[step.name])
    for step in steps:
        _box(svg, step, places[step.name])
    return str(etree.tostring(svg, encoding="unicode", pretty_print=True))


def clean(text: str) -> str:
    """A text as one line, without control and invisible characters."""
    return _UNSEEN.sub("", " ".join(text.split()))


@dataclass(frozen=True)
class _Place:
    """Where a box stands: its left upper corner, and its width."""

    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def _places(steps: Sequence[Step]) -> tuple[dict[str, _Place], float, float]:
    """The places of all boxes, and the width and the height of the picture.

    In its layer a step stands below the middle of those that it needs, so that few lines cross.
    """
    layers: dict[int, list[Step]] = {}
    for step in steps:
        layers.setdefault(step.layer, []).append(step)
    widths = {step.name: _width(step) for step in steps}
    rows = [sum(widths[step.name] + _GAP for step in row) - _GAP for row in layers.values()]
    widest = max(rows, default=0)
    places: dict[str, _Place] = {}
    y = float(_MARGIN)
    for _, row in sorted(layers.items()):
        row.sort(key=lambda step: _middle(step, places))
        x = _MARGIN + (widest - sum(widths[step.name] + _GAP for step in row) + _GAP) / 2
        for step in row:
            places[step.name] = _Place(x, y, widths[step.name])
            x += widths[step.name] + _GAP
        y += _HEIGHT + _LAYER_GAP
    return places, widest + 2 * _MARGIN, y - _LAYER_GAP + _MARGIN


def _middle(step: Step, places: dict[str, _Place]) -> float:
    """The mean of the middles of what a step needs."""
    above = [places[needed].middle for needed in step.needs if needed in places]
    return sum(above) / len(above) if above else 0


def _width(step: Step) -> float:
    return max(_columns(step.name), _columns(_label(step))) * _CHARACTER + 2 * _PADDING


def _columns(text: str) -> int:
    """How many columns a text takes: letters of East Asia take two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _label(step: Step) -> str:
    """The second line of a box."""
    text = clean(" · ".join(filter(None, (step.state, step.title))))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _line(svg: _Element, above: _Place, below: _Place) -> None:
    from lxml import etree

    y1, y2 = above.y + _HEIGHT, below.y
    bend = (y2 - y1) / 2
    curve = (
        f"M {above.middle:.1f} {y1:.1f} C {above.middle:.1f} {y1 + bend:.1f}, "
        f"{below.middle:.1f} {y2 - bend:.1f}, {below.middle:.1f} {y2 - 6:.1f}"
    )
    etree.SubElement(svg, "path", d=curve, fill="none", stroke="#8a8a8a")
    tip = f"{below.middle - 4:.1f},{y2 - 7:.1f} {below.middle + 4:.1f},{y2 - 7:.1f} {below.middle:.1f},{y2:.1f}"
    etree.SubElement(svg, "polygon", points=tip, fill="#8a8a8a")


def _box(svg: _Element, step: Step, place: _Place) -> None:
    from lxml import etree

    fill, stroke = _COLOURS.get(step.state, ("#eef3fb", "#3b5b92"))
    group = etree.SubElement(svg, "g")
    etree.SubElement(group, "title").text = clean(f"{step.name}: {step.title}" if step.title else step.name)
    box = {"x": f"{place.x:.1f}", "y": f"{place.y:.1f}", "width": f"{place.width:.1f}", "height": str(_HEIGHT)}
    etree.SubElement(group, "rect", {**box, "rx": "6", "fill": fill, "stroke": stroke})
    label = _label(step)
    for text, y, weight in ((step.name, 18 if label else 26, "bold"), (label, 34, "normal")):
        if text:
            at = {"x": f"{place.middle:.1f}", "y": f"{place.y + y:.1f}", "text-anchor": "middle", "font-weight": weight}
            etree.SubElement(group, "text", at).text = text
