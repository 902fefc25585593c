"""What reading a model's answer promises.

1. tags become commands, each tool in its way; 2. bodies are opaque; 3. every repair is made and told; 4. quotations do
not run; 5. prose and reasoning are kept; 6. nothing raises, nothing is slow, no call vanishes in silence.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

import engine
from engine.functions.markup.answer import response_parse
from engine.functions.markup.calls import USUAL

PIECES = (
    *"<>/`\"'=&{}[]| \nA",
    *("<get", "</get>", "<set path=", '"a"', "/>", "</set>", "<sh>", "</sh>", "<update", "</update>", "<think>"),
    *("</think>", "<<EOF", "EOF", "```xml\n", "```", "~~~", "<|x|>", "\\", "<escape>", "\u201c", "\x00", "&quot;"),
    *("<tool_call>", "call:get{", '{"name":', "[TOOL_CALLS]", '"get"', '"arguments":{', "<invoke ", "<|channel|>"),
    *("<|message|>", "<ask_user question=", "text ", "é", "path:"),
)
MARKUP = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def parse(text: str, tools: str | None = None, cap: int | None = None) -> dict[str, Any]:
    result = response_parse(text, tools, cap)
    assert result is not None
    parsed: dict[str, Any] = json.loads(result)
    assert list(parsed) == ["commands", "warnings", "unread", "rare", "text", "reasoning"]
    return parsed


def clean(text: str) -> list[dict[str, Any]]:
    """The commands of `text`, which needs no repair."""
    parsed = parse(text)
    assert parsed["warnings"] == []
    return parsed["commands"]


def only(text: str) -> dict[str, Any]:
    (command,) = clean(text)
    return command


def actions(parsed: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(command["action"], command["path"], command["body"]) for command in parsed["commands"]]


def repaired(text: str, warning: str) -> dict[str, Any]:
    """The reading of `text`, one of whose warnings starts with `warning`."""
    parsed = parse(text)
    assert any(told.startswith(warning) for told in parsed["warnings"]), parsed["warnings"]
    return parsed


# -- 1. commands


def test_a_command_tells_all_that_the_tag_says() -> None:
    tag = '<SET Path="known://a" Visibility=summarized TAGS="x &amp;amp; &quot;y&quot; &lt;&gt;&apos;" manifest>b</set>'
    assert only(f"Hello {tag} world") == {
        "action": "set",
        "path": "known://a",
        "destination": None,
        "body": "b",
        "attributes": {"visibility": "summarized", "tags": 'x &amp; "y" <>\'', "manifest": ""},
        "source": tag,
    }


@pytest.mark.parametrize(
    ("text", "path", "destination", "body"),
    [
        ('<get path="a"/>', "a", None, None),
        ("<get>\n a.txt\n</get>", "a.txt", None, None),
        ('<get path="**">TODO</get>', "**", None, "TODO"),
        ('<get path="a">\n</get>', "a", None, ""),
        ('<get path=""/>', "", None, None),
        ("<get></get>", None, None, ""),
        ("<rm>a</rm>", "a", None, None),
        ('<cp path="a" to="b"/>', "a", "b", None),
        ('<mv path="a"> b </mv>', "a", "b", None),
        ('<mv path="a"></mv>', "a", None, None),
        ('<sh command="ls"/>', None, None, "ls"),
        ("<env>\nls\n</env>", None, None, "\nls\n"),
        ("<sh><<EOF\nls\nEOF</sh>", None, None, "ls"),
        ("<sh>\n<<EOF\ncat <<X\n</sh>\nX\nEOF\n</sh>", None, None, "cat <<X\n</sh>\nX"),
        ('<search query="cats"/>', None, None, "cats"),
        ('<search path="cats"/>', None, None, "cats"),
        ('<search path="src/" query="cats"/>', "src/", None, "cats"),
        ("<search>cats</search>", None, None, "cats"),
        ('<set path="a"/>', "a", None, None),
        ('<set path="a"></set>', "a", None, ""),
        ('<set path="a">\n\n x \n\n</set>', "a", None, "\n x \n"),
        ('<set path="a">\r\nx\r\n</set>', "a", None, "x"),
        ('<update status="200">\nDone\n</update>', None, None, "\nDone\n"),
        ("<get path=src/a.txt/>", "src/a.txt", None, None),
        ("<get path='a' />", "a", None, None),
    ],
)
def test_each_tool_takes_its_target_from_attribute_or_body(
    text: str, path: str | None, destination: str | None, body: str | None
) -> None:
    command = only(text)
    assert (command["path"], command["destination"], command["body"]) == (path, destination, body)
    assert command["source"] == text


@pytest.mark.parametrize(
    ("text", "body", "options"),
    [
        ('<ask_user question="Q?" options="a;b"/>', "Q?", "a;b"),
        ('<ask_user question="Q?">a;b</ask_user>', "Q?", "a;b"),
        ('<ask_user options="a;b">Q?</ask_user>', "Q?", "a;b"),
        ("<ask_user>Q?</ask_user>", "Q?", None),
    ],
)
def test_ask_user_tells_question_and_options_apart(text: str, body: str, options: str | None) -> None:
    command = only(text)
    assert (command["body"], command["attributes"].get("options")) == (body, options)


def test_an_attribute_that_wins_over_a_body_is_told() -> None:
    parsed = repaired('<sh command="ls">pwd</sh>', "<sh> had both command and a body")
    assert actions(parsed) == [("sh", None, "ls")]


def test_a_status_is_kept_as_given() -> None:
    assert only('<update status=" 0200x">hi</update>')["attributes"] == {"status": " 0200x"}


def test_names_are_case_insensitive_and_lose_their_namespace() -> None:
    assert [c["action"] for c in clean('<GET path="a"/><ns:get path="b"/><x.y.Rm path="c"/><a:sh>ls</a:sh>')] == [
        "get",
        "get",
        "rm",
        "sh",
    ]


def test_only_the_given_tools_are_recognised() -> None:
    parsed = parse('<get path="a"/><Frob x="1">b</frob>', '["frob"]')
    assert actions(parsed) == [("frob", None, "b")]
    assert parsed["text"] == '<get path="a"/>'
    assert clean('<getter/><get-x/><ſet path="a"/>') == []


def test_the_cap_drops_the_rest_with_one_warning() -> None:
    parsed = parse('<get path="a"/>' * 5 + "<rm>b</rm>", None, 3)
    assert len(parsed["commands"]) == 3
    assert [told for told in parsed["warnings"] if told.startswith("Tool call limit (3) reached: 3 further")]
    assert len(parse("<get>a</get>" * 120)["commands"]) == 99


def test_null_is_null() -> None:
    assert response_parse(None, None, None) is None


# -- 2. opacity


@pytest.mark.parametrize(
    "body",
    [
        "Vec<Map<String, List<T>>> x = a < b && c > d;",
        "<!DOCTYPE html><HTML><Body Class='X'>&amp;&nbsp;</Body></HTML>",
        "<![CDATA[ <get path='x'/> ]]><!-- <rm>all</rm> --><?xml version='1.0'?>",
        '(?<=a)(?<!b)(?P<name>c) <get path="x"/> <sh>rm</sh> </update> </get>',
        "`<get/>` ```xml\n<get/>\n``` <|im_end|> <tool_call>{}</tool_call>",
        '{"name":"get","arguments":{"path":"a"}}',
        "tabs\tand  spaces \u00a0\u2028 \U0001f600 \x00 end ",
        "vec<<EOF stays, so does <<:::known://a\nb\n:::known://a",
        '<set path="inner">x</set> and <set path="b"/>',
        "<<EOF\n</set>\nEOF",
        "<<SEARCH\n</set> <set\nSEARCH\n<<REPLACE\n</set></set>\nREPLACE",
    ],
)
def test_a_body_survives_byte_for_byte(body: str) -> None:
    text = f'<set path="a">{body}</set>\n<update status="102">ok</update>'
    assert [command["body"] for command in clean(text)] == [body, "ok"]


@given(st.text(), st.sampled_from(["sh", "update", "think", "env", "ask_user", "search"]))
def test_any_text_makes_the_round_trip_through_a_tool(body: str, tool: str) -> None:
    assert only(f"<{tool}>{body}</{tool}>")["body"] == body


# a carriage return before the line feed is part of the line's end
@given(
    st.one_of(
        st.text().filter(lambda text: not text.endswith("\r")),
        MARKUP.filter(lambda text: not re.search(r"<\W*set|<<|[<:.\r]$", text)),
    )
)
def test_any_text_makes_the_round_trip_through_set(body: str) -> None:
    assert only(f'<set path="a">\n{body}\n</set>')["body"] == body


@given(st.one_of(st.text(), MARKUP))
def test_any_text_makes_the_round_trip_through_a_marker(body: str) -> None:
    inner = f"<<END_OF_IT\n{body}\nEND_OF_IT"
    assert only(f'<set path="a">{inner}</set>')["body"] == inner


@given(st.one_of(st.text(), MARKUP))
def test_any_value_makes_the_round_trip_through_an_attribute(value: str) -> None:
    escaped = value
    for character, entity in [("&", "amp"), ('"', "quot"), ("<", "lt"), (">", "gt"), ("'", "apos")]:
        escaped = escaped.replace(character, f"&{entity};")
    assert only(f'<get path="{escaped}"/>')["path"] == value


# -- 3. repairs


@pytest.mark.parametrize(
    ("text", "warning", "expected"),
    [
        (
            '<get path="a">\n<get path="b">\n<sh>ls</sh>',
            "Unclosed <get>",
            [("get", "a", None), ("get", "b", None), ("sh", None, "ls")],
        ),
        ('<get path="a">\nNow I look.', "Unclosed <get>", [("get", "a", None)]),
        ('<get path="a">\n<sh>ls</sh>\n</get>', "Mismatched </get>", [("get", "a", None), ("sh", None, "ls")]),
        (
            '<set path="a">text\n<get path="x"/>\n<update status="200">ok</update>',
            "Unclosed <set>: recovered 2 trailing tool call(s)",
            [("set", "a", "text"), ("get", "x", None), ("update", None, "ok")],
        ),
        (
            '<think>hm\n<tool_call>{"name":"get","arguments":{"path":"a"}}</tool_call>',
            "Unclosed thoughts: the calls in them were not run",
            [("think", None, 'hm\n<tool_call>{"name":"get","arguments":{"path":"a"}}</tool_call>')],
        ),
        ('<set path="a">half', "Unclosed <set>: its body was taken to the end", [("set", "a", "half")]),
        (
            '<set path="a">x\n<set path="b">y</set>\nand so on',
            "Unclosed <set>: its body was ended before",
            [("set", "a", "x"), ("set", "b", "y")],
        ),
        (
            "<set path='a'>use <set> so</set> <get path='b'/>",
            "Unclosed <set> inside",
            [("set", "a", "use <set> so"), ("get", "b", None)],
        ),
        (
            '<set path="a"><<EOF\nx</set>\n<update status="200">EOF</update>',
            "",
            [("set", "a", "<<EOF\nx"), ("update", None, "EOF")],
        ),
        (
            '<set path="a"><<EOF\nx</set>\n<set path="b"><<EOF\ny\nEOF</set>',
            "",
            [("set", "a", "<<EOF\nx"), ("set", "b", "<<EOF\ny\nEOF")],
        ),
        (
            '<update status="200">Done</get>\n<get path="x"/>',
            "Mismatched </get> closing <update>",
            [("update", None, "Done"), ("get", "x", None)],
        ),
        ('<get path="a"></set>', "Mismatched </set> closing <get>", [("get", "a", "")]),
        ('<get path="a"/></get>', "Mismatched </get>: it closes nothing", [("get", "a", None)]),
        ("<think>a</thinking>b", "Mismatched </thinking>", [("think", None, "a")]),
        (
            '<get path="a.txt\n<get path="b.txt"/>',
            "Repaired",
            [("get", "a.txt", None), ("get", "b.txt", None)],
        ),
        (
            '<get path="a.txt/>\n<get path="b.txt"/>',
            "Repaired 1 malformed attribute(s)",
            [("get", "a.txt", None), ("get", "b.txt", None)],
        ),
        ("<get path='a.txt></get>", "Repaired", [("get", "a.txt", "")]),
        ('<get path=a.txt"/>', "Repaired", [("get", "a.txt", None)]),
        ('<update status="200">Done.</upda', "Unclosed <update>", [("update", None, "Done.")]),
        ('<update status="200>He said "hi".</update>', "Repaired", [("update", None, 'He said "hi".')]),
        ('<sh command="echo "hi" there"/>', "Repaired", [("sh", None, 'echo "hi" there')]),
        ('<get path="a"\n<rm path="b"/>', "Repaired", [("get", "a", None), ("rm", "b", None)]),
        ('<get path="a"', "Repaired", [("get", "a", None)]),
        ('<set path="a">x</set', "", [("set", "a", "x")]),
    ],
)
def test_a_broken_answer_is_repaired_and_told(text: str, warning: str, expected: list[tuple[str, str, str]]) -> None:
    parsed = repaired(text, warning) if warning else parse(text)
    assert actions(parsed) == expected


def test_a_quoted_tag_in_a_value_is_no_missing_quote() -> None:
    assert (
        only('<ask_user question="Use <get> or <set path=x/>?" options="a;b"/>')["body"]
        == "Use <get> or <set path=x/>?"
    )


@pytest.mark.parametrize(
    "text", ["<get path=“a b”/>", '<get path=\\"a b\\"/>', '<get path=<|"|>a b<|"|>/>', "<get path=`a b`/>"]
)
def test_odd_quotes_are_quotes(text: str) -> None:
    assert only(text)["path"] == "a b"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("Use <sh> to run a command.", "Unclosed <sh> in a sentence"),
        ("when x <get then more", "Unclosed <get: it has no '>'"),
        ("x <get then <b>", "Unclosed <get: it has no '>'"),
        ('Bye <sh command="rm -rf /tmp/x', "Unclosed <sh: the answer ends inside it"),
    ],
)
def test_what_may_not_be_a_call_is_not_run_and_told(text: str, warning: str) -> None:
    parsed = repaired(text, warning)
    assert parsed["commands"] == []
    assert parsed["text"] == text


def test_control_tokens_are_stripped_outside_tags_only() -> None:
    parsed = repaired("<|im_start|>Hi<|x|><sh>echo '<|x|>'</sh><eot|><|im_end|>", "Stripped 2 stray control token(s)")
    assert parsed["text"] == "Hi"
    assert actions(parsed) == [("sh", None, "echo '<|x|>'")]


# -- 4. quotations


@pytest.mark.parametrize(
    "quotation",
    [
        '`<get path="a"/>`',
        '`` `<get path="a"/>` ``',
        '`<set path="a">\nb</set>`',
        '```\n<get path="a"/>\n```',
        '````md\n```xml\n<get path="a"/>\n```\n````',
        '~~~\n<rm path="a"/>\n~~~',
        '```json\n{"name":"get","arguments":{"path":"a"}} <get path="a"/>\n```',
        '```\nnever closed <get path="a"/>',
    ],
)
def test_a_quotation_is_text_and_told(quotation: str) -> None:
    parsed = repaired(f"See:\n{quotation}", "Quoted in back-ticks")
    assert parsed["commands"] == []
    assert parsed["text"] == f"See:\n{quotation}"


@pytest.mark.parametrize("fence", ["xml", "tool_code", "tool_command", "XML"])
def test_a_fence_around_calls_is_unwrapped(fence: str) -> None:
    call = '<set path="a.md">\n```py\nx\n```\n</set>'
    parsed = repaired(f"Now:\n```{fence}\n{call}\n```\nBye", "Unwrapped")
    assert actions(parsed) == [("set", "a.md", "```py\nx\n```")]
    assert parsed["text"] == "Now:\nBye"


def test_a_fence_of_plain_xml_stays_text() -> None:
    text = "```xml\n<note>hi</note>\n```"
    assert parse(text) == {"commands": [], "warnings": [], "unread": 0, "rare": False, "text": text, "reasoning": ""}


def test_a_lone_back_tick_quotes_nothing() -> None:
    assert only('the ` key\n\n<get path="a"/> and ` again')["path"] == "a"
    assert only('an escaped \\`<get path="a"/>` tick')["path"] == "a"


def test_a_call_right_behind_a_code_span_runs() -> None:
    assert only('`x``y` `a`<get path="a"/>')["path"] == "a"


# -- 5. prose and reasoning


def test_prose_is_what_stands_outside_tags() -> None:
    parsed = parse('\n One <get path="a"/> two.\n\n<sh>ls</sh>\n\nThree\n')
    assert parsed["text"] == "One two.\n\nThree"


@pytest.mark.parametrize("tag", ["think", "thinking", "Thinking"])
def test_thoughts_are_reasoning_and_a_command(tag: str) -> None:
    parsed = parse(f"<{tag}>\nI could <get path='x'/>.\n</{tag}>Yes")
    assert parsed["reasoning"] == "I could <get path='x'/>."
    assert actions(parsed) == [("think", None, "\nI could <get path='x'/>.\n")]
    assert parsed["text"] == "Yes"


def test_thoughts_are_reasoning_even_where_think_is_no_tool() -> None:
    parsed = parse("<think>hm</think>Yes", '["get"]')
    assert (parsed["commands"], parsed["reasoning"], parsed["text"]) == ([], "hm", "Yes")


def test_a_thought_that_was_never_opened_is_reasoning() -> None:
    parsed = repaired("Let me see.\n</think>\nYes", "Unopened </think>")
    assert (parsed["reasoning"], parsed["text"]) == ("Let me see.", "Yes")


# -- 6. robustness

ANSWER = """<think>First <b>look</b>.</think>
I read it. <get path="src/a.py" line="1"/>
<set path="src/b.py">
<<SEARCH
if a < b: return "<set>"
SEARCH
<<REPLACE
pass
REPLACE
</set>
<sh>ls "$HOME" | grep `x`</sh>
<update status="102">Goes on</update>
"""


@given(st.one_of(st.text(), MARKUP))
def test_no_text_raises_and_every_source_is_a_slice(text: str) -> None:
    parsed = parse(text)
    assert not any("could not be parsed" in told for told in parsed["warnings"])
    assert all(command["source"] in text for command in parsed["commands"])


@given(st.data())
def test_no_mutation_of_an_answer_raises(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(ANSWER)))
    end = data.draw(st.integers(start, min(len(ANSWER), start + 30)))
    text = ANSWER[:start] + data.draw(MARKUP) + ANSWER[end:]
    parsed = parse(text)
    assert not any("could not be parsed" in told for told in parsed["warnings"])
    assert all(command["source"] in text for command in parsed["commands"])


def test_a_lost_character_loses_no_call_in_silence() -> None:
    expected = len(clean(ANSWER))
    heads = {i for found in re.finditer(r"<(?:think|get|set|sh|update) ?", ANSWER) for i in range(*found.span())}
    for index in set(range(len(ANSWER))) - heads:
        parsed = parse(ANSWER[:index] + ANSWER[index + 1 :])
        assert parsed["warnings"] or len(parsed["commands"]) == expected, ANSWER[index - 9 : index + 9]


@pytest.mark.parametrize(("tools", "cap"), [("not json", None), ('{"a":1}', None), ("[1]", None), (None, "x")])
def test_bad_arguments_leave_the_text(tools: str | None, cap: Any) -> None:
    parsed = parse(' <get path="a"/> ', tools, cap)
    assert (parsed["commands"], parsed["text"]) == ([], '<get path="a"/>')
    assert parsed["warnings"][0].startswith("The answer could not be parsed")


@pytest.mark.parametrize(
    "hostile",
    [
        "<get <get ",
        "<<A <<A ",
        "`",
        "` ``",
        '<set path="a"><<A ',
        '<get path="',
        "<get path='\"",
        "<sh>",
        "<sh>\n",
        '<set a="1">x\n',
        "</get>",
        "<set>",
        '<get a="b"c ',
        "<a.a.get ",
        "```\n",
        "```xml\n",
        "<set><<A\nA <set><<B ",
        '<get path  a b.txt" line = " line = ',
        "<get a=\u201c b ",
        "<update>\n<result>\n</update>\n</result>\nIt is 42.",
    ],
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    text = (hostile * 20_000)[:40_000]
    check_cost(3, lambda: parse(text))


def test_a_large_answer_is_read_at_once() -> None:
    body = "def f(x: List[int]) -> Dict[str, int]: return {k: v for k, v in x if x < 3}\n" * 26
    text = "".join(f'<set path="a{number}.py">\n{body}</set>\n' for number in range(50))
    assert len(text) > 100_000
    assert len(clean(text)) == 50
    check_cost(2, lambda: clean(text))


def test_the_usual_attributes_are_known_to_the_schemas(db: engine.Database) -> None:
    """Only for other attributes the schemas are asked, so these must be in them, or become the body (`command`, `query`)."""
    schemas = {
        row["name"]: json.loads(row["schema"])["properties"] for row in db.rows("select name, schema from tools")
    }
    for tool, usual in USUAL.items():
        assert usual - {"command", "query"} <= schemas[tool].keys(), tool
