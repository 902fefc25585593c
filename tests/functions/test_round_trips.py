"""Every tool's command, whatever its texts hold, is read back as it was written.

spec: @parser
"""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from engine.functions.edits.bodies import edit_apply
from engine.functions.markup.answer import response_parse
from engine.functions.markup.render import render_command

MARKUP = st.sampled_from(
    ["</set>", "<set ", "</sh>", '<get path="x"/>', "<<EOF", "EOF", "`", "```xml\n", "<think>", "\n", " ", "&lt;", '"']
)
TEXT = st.one_of(st.text(min_size=1), st.lists(MARKUP, min_size=1, max_size=12).map("".join))
PATH = TEXT.filter(str.strip)
CALL = st.one_of(
    st.fixed_dictionaries({"action": st.just("set"), "path": PATH, "body": TEXT}, optional={"tags": TEXT}),
    st.fixed_dictionaries({"action": st.sampled_from(["get", "rm"]), "path": PATH}, optional={"body": TEXT}),
    st.fixed_dictionaries({"action": st.sampled_from(["cp", "mv"]), "path": PATH, "to": PATH}),
    st.fixed_dictionaries({"action": st.sampled_from(["sh", "env", "think", "search"]), "body": TEXT}),
    st.fixed_dictionaries({"action": st.just("update"), "status": st.just("200"), "body": TEXT}),
    st.fixed_dictionaries({"action": st.just("ask_user"), "body": TEXT, "options": TEXT}),
)


@given(CALL)
def test_a_rendered_command_is_parsed_as_it_was(call: dict[str, str]) -> None:
    arguments = dict(call)
    action = arguments.pop("action")
    parsed = json.loads(response_parse(render_command(action, json.dumps(arguments)), None, None) or "")
    (command,) = parsed["commands"]
    assert parsed["warnings"] == []
    named = {"path": command["path"], "to": command["destination"], "body": command["body"], **command["attributes"]}
    found = {name: value for name, value in named.items() if value is not None}
    if action in ("get", "rm") and not arguments.get("body", "x").strip():
        arguments["body"] = ""  # white space filters nothing
    if action == "set" and arguments.get("tags", "").strip() and not arguments["body"].strip():
        del arguments["body"]  # a blank body beside tags is none
    assert (command["action"], found) == (action, arguments)


@given(st.text())
def test_a_body_in_a_marker_of_its_own_arrives_in_the_entry(body: str) -> None:
    answer = f"<set path='a'><<TEXT_1a\n{body}\nTEXT_1a</set>"
    (command,) = json.loads(response_parse(answer, None, None) or "")["commands"]
    assert json.loads(edit_apply(None, command["body"]) or "")["body"] == body
