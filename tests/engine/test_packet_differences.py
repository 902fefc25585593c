"""Packets are compared section by section.

spec: @packet_differences
"""

from engine.packets.differences import packet_differences, sections

ENTRY = '{"turn":1,"lines":4,"tokens":9} <<:::a.txt'
USER = (
    f"<prompt>\nChange it\n</prompt>\n<visible>\n{ENTRY}\none\n</visible>\n<log>\n:::a.txt\n</visible>\n<log>\n</log>\n"
)


def test_what_an_entry_holds_ends_no_section() -> None:
    found = sections("user", USER)
    assert [*found] == ["prompt", "visible", "log"]
    assert "".join(found.values()) == USER


def test_equal_packets_have_no_differences() -> None:
    packet = [("system", "Words\n# Commands\nget\n"), ("user", USER)]
    assert [*packet_differences(packet, packet)] == []


def test_each_section_that_differs_has_a_diff() -> None:
    before = [("system", "Words\n# Commands\nget\n# Persona\nA\n"), ("user", USER)]
    after = [("system", "Words\n# Commands\nset\n# Persona\nA\n"), ("user", USER.replace("one", "uno"))]
    found = [*packet_differences(before, after)]
    assert [(each.role, each.section) for each in found] == [("system", "Commands"), ("user", "visible")]
    assert "-get\n+set\n" in found[0].diff
    assert "-one\n+uno\n" in found[1].diff


def test_a_section_that_only_one_packet_has_is_compared_with_nothing() -> None:
    more = USER + "<rules>\nBe brief\n</rules>\n"
    (added,) = packet_differences([("user", USER)], [("user", more)])
    (removed,) = packet_differences([("user", more)], [("user", USER)])
    assert added.section == removed.section == "rules"
    assert added.diff.startswith("--- /dev/null\n+++ b/rules\n")
    assert removed.diff.startswith("--- a/rules\n+++ /dev/null\n")


def test_sections_of_one_name_are_told_apart() -> None:
    twice = "<file>\na\n</file>\n<file>\nb\n</file>\n"
    (found,) = packet_differences([("user", twice)], [("user", twice.replace("b", "c"))])
    assert found.section == "file (2)"
    assert "-b\n+c\n" in found.diff
