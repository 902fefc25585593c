"""The graph of steps and what each of them needs: its layers, and the cycles in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def layers_of(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The layer of each step: 1 for one that needs none, else one more than the highest of those that it needs.

    A step that is in a cycle, or needs one that is, has none. What is needed and no key is passed over.
    """
    layers: dict[str, int] = {}
    open_needs = {step: len({each for each in wanted if each in needs}) for step, wanted in needs.items()}
    wanted_by: dict[str, list[str]] = {}
    for step, wanted in needs.items():
        for each in {each for each in wanted if each in needs}:
            wanted_by.setdefault(each, []).append(step)
    ready, layer = [step for step, count in open_needs.items() if not count], 1
    while ready:
        layers.update(dict.fromkeys(ready, layer))
        following: list[str] = []
        for step in ready:
            for each in wanted_by.get(step, ()):
                open_needs[each] -= 1
                if not open_needs[each]:
                    following.append(each)
        ready, layer = following, layer + 1
    return layers


def cycles_of(needs: Mapping[str, Sequence[str]], steps: Iterable[str]) -> list[list[str]]:
    """Cycles among `steps`, of which each is in a cycle or needs one that is; each begins and ends with the same step.

    No step is in two of them, and each cycle of the graph shares a step with one of them.
    """
    left = dict.fromkeys(steps)
    cycles: list[list[str]] = []
    settled: set[str] = set()
    for first in left:
        path: dict[str, int] = {}
        step: str | None = first
        while step is not None and step not in settled and step not in path:
            path[step] = len(path)
            step = next((each for each in needs[step] if each in left), None)
        if step is not None and step in path:
            cycles.append([*list(path)[path[step] :], step])
        settled.update(path)
    return cycles
