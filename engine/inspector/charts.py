"""Small charts as SVG, from numbers that a query has found.

A chart has no script and no style of its own: classes say what its parts are. It is as wide as its place.

spec: @inspector
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

_HEIGHT = 40
_STEP = 10
Number = float | int | None


def bars(values: Sequence[Number], labels: Sequence[str], told: str, kind: str = "") -> Markup:
    """A bar for each value, with a label that a pointer shows; `told` says what the chart is about."""
    most = max((value or 0 for value in values), default=0) or 1
    drawn = [
        _bar(at, (value or 0) / most, "" if value is None else label, _width(len(values)))
        for at, (value, label) in enumerate(zip(values, labels, strict=True))
    ]
    return _chart(len(values), told, kind, Markup("").join(drawn))


def marks(values: Sequence[Number], labels: Sequence[str], told: str, kind: str = "") -> Markup:
    """A mark wherever a value is not 0."""
    most = max((value or 0 for value in values), default=0) or 1
    drawn = [
        _bar(at, 0.3 + 0.7 * value / most, label, _width(len(values)))
        for at, (value, label) in enumerate(zip(values, labels, strict=True))
        if value
    ]
    return _chart(len(values), told, kind, Markup("").join(drawn))


def area(values: Sequence[Number], labels: Sequence[str], told: str, limit: Number = None, kind: str = "") -> Markup:
    """The values as a filled line; with `limit` as a line above, where it is near enough to be seen."""
    known = [value or 0 for value in values]
    top = max(known, default=0)
    most = (limit if limit is not None and limit < top * 3 else top) or 1
    most = max(most, top) or 1
    points = [((at + 0.5) * _STEP, _y(value / most)) for at, value in enumerate(known)]
    if len(points) == 1:
        points = [(0.0, points[0][1]), (float(_STEP), points[0][1])]
    line = " ".join(f"{x:g},{y:g}" for x, y in points)
    shape = Markup("")
    if points:
        shape = Markup(
            '<polygon class="area" points="{:g},{} {} {:g},{}"/><polyline class="line" points="{}"/>'
        ).format(points[0][0], _HEIGHT, line, points[-1][0], _HEIGHT, line)
    if limit is not None and limit <= most:
        y = _y(limit / most)
        shape += Markup('<line class="limit" x1="0" x2="{}" y1="{:g}" y2="{:g}"/>').format(len(values) * _STEP, y, y)
    shape += Markup("").join(_hover(at, label) for at, label in enumerate(labels))
    return _chart(len(values), told, kind, shape)


def shares(parts: Sequence[tuple[str, float]], told: str) -> Markup:
    """One bar of several parts, each as wide as its share; the classes are part-0, part-1 and so on."""
    whole = sum(value for _, value in parts) or 1
    drawn, x = [], 0.0
    for at, (name, value) in enumerate(parts):
        width = value / whole * 1000
        drawn.append(
            Markup('<rect class="part-{}" x="{:.2f}" width="{:.2f}" y="0" height="10"><title>{}</title></rect>').format(
                at % 8, x, max(width - 2, 0.5), name
            )
        )
        x += width
    return Markup(
        '<svg class="shares" role="img" aria-label="{}" viewBox="0 0 1000 10" preserveAspectRatio="none">{}</svg>'
    ).format(told, Markup("").join(drawn))


def span(start: float, width: float, told: str, kind: str) -> Markup:
    """A bar on a line of time: where it begins and how long it is, as parts of 1."""
    return Markup(
        '<svg class="span" role="img" aria-label="{}" viewBox="0 0 1000 10" preserveAspectRatio="none">'
        '<rect class="{}" x="{:.1f}" width="{:.1f}" y="1" height="8" rx="2"><title>{}</title></rect></svg>'
    ).format(told, kind, min(start, 0.99) * 1000, max(width * 1000, 8), told)


def graph(nodes: Sequence[tuple[str, str, int, str]], edges: Sequence[tuple[str, str]], told: str) -> Markup:
    """Boxes in columns with lines between them: a node is a name, its words, its layer and the class of its state."""
    rows: dict[int, int] = {}
    at: dict[str, tuple[int, int]] = {}
    boxes = []
    for name, words, layer, kind in nodes:
        x, y = layer * 190 + 8, rows.get(layer, 0) * 54 + 8
        rows[layer] = rows.get(layer, 0) + 1
        at[name] = (x, y)
        boxes.append(
            Markup(
                '<g class="node {}"><rect x="{}" y="{}" width="150" height="38" rx="7"/><circle cx="{}" cy="{}" r="4"/>'
                '<text x="{}" y="{}">{}</text><title>{}</title></g>'
            ).format(kind, x, y, x + 14, y + 19, x + 26, y + 23, name if len(name) < 18 else f"{name[:16]}…", words)
        )
    lines = [
        Markup('<path class="edge" d="M{} {}C{} {} {} {} {} {}"/>').format(
            at[a][0] + 150, at[a][1] + 19, at[a][0] + 170, at[a][1] + 19,
            at[b][0] - 20, at[b][1] + 19, at[b][0], at[b][1] + 19,
        )
        for a, b in edges if a in at and b in at
    ]  # fmt: skip
    width, height = (max(rows, default=0) + 1) * 190 - 24, max(rows.values(), default=0) * 54
    return Markup(
        '<svg class="graph" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">{}{}</svg>'
    ).format(told, width, height, width, height, Markup("").join(lines), Markup("").join(boxes))


def spark(values: Sequence[Number], told: str) -> Markup:
    """A line without labels, for a cell of a table."""
    known = [value or 0 for value in values]
    if len(known) < 2:
        return Markup("")
    most = max(known) or 1
    line = " ".join(f"{at * 100 / (len(known) - 1):.1f},{18 - 16 * value / most:.1f}" for at, value in enumerate(known))
    return Markup(
        '<svg class="spark" role="img" aria-label="{}" viewBox="0 0 100 20" preserveAspectRatio="none">'
        '<polyline points="{}"/></svg>'
    ).format(told, line)


def _width(columns: int) -> float:
    """How wide a bar is: of few bars each takes a small part of its column."""
    return _STEP * (0.8 if columns > 24 else 0.5 if columns > 8 else 0.25)


def _bar(at: int, part: float, label: str, width: float) -> Markup:
    height = 0 if part <= 0 else max(part * (_HEIGHT - 1), 1.5)
    return Markup(
        '<g><rect class="hit" x="{}" y="0" width="{}" height="{}"/>'
        '<rect class="bar" x="{:g}" y="{:.2f}" width="{:g}" height="{:.2f}"/><title>{}</title></g>'
    ).format(at * _STEP, _STEP, _HEIGHT, (at + 0.5) * _STEP - width / 2, _HEIGHT - height, width, height, label)


def _hover(at: int, label: str) -> Markup:
    return Markup('<rect class="hit" x="{}" y="0" width="{}" height="{}"><title>{}</title></rect>').format(
        at * _STEP, _STEP, _HEIGHT, label
    )


def _y(part: float) -> float:
    return round(_HEIGHT - part * (_HEIGHT - 2), 2)


def _chart(columns: int, told: str, kind: str, inside: Markup) -> Markup:
    return Markup(
        '<svg class="chart {}" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">{}</svg>'
    ).format(kind, told, max(columns, 1) * _STEP, _HEIGHT, inside)
