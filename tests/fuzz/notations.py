"""One call in each notation that models write; `§` stands in an argument of it, where text goes."""

from __future__ import annotations

_JSON = '{"path": "d.md", "body": "§"}'
_BARS = ("\uff5c", "\u2581")
NOTATIONS: tuple[str, ...] = (
    '{"name": "set", "arguments": ' + _JSON + "}",
    '{"id": "c1", "type": "function", "function": {"name": "set", "arguments": ' + _JSON + "}}",
    '[{"name": "get", "arguments": {"path": "a"}}, {"name": "set", "parameters": ' + _JSON + "}]",
    '<tool_call>\n{"name": "set", "arguments": ' + _JSON + "}\n</tool_call>",
    '<|tool_call|>[{"name": "set", "arguments": ' + _JSON + "}]<|/tool_call|>",
    '<|tool_call>call:set{path:<|"|>d.md<|"|>,body:<|"|>§<|"|>}<tool_call|>',
    "<|tool_call>call:set{path:d.md,body:'§'}<tool_call|>",
    "<start_function_call>call:set{path:<escape>d.md<escape>,body:<escape>§<escape>}<end_function_call>",
    'call:set{path:d.md,body:<|"|>§<|"|>}',
    "[TOOL_CALLS]set" + _JSON,
    '[TOOL_CALLS] [{"name": "set", "arguments": ' + _JSON + "}]",
    "<tool_use><name>set</name><input>" + _JSON + "</input></tool_use>",
    "<tool_use><name>set</name><path>d.md</path><body>§</body></tool_use>",
    '<function_calls>\n<invoke name="set">\n<parameter name="path">d.md</parameter>\n<parameter name="body">§</parameter>\n'
    "</invoke>\n</function_calls>",
    "<function_calls><invoke><tool_name>set</tool_name><parameters><path>d.md</path><body>§</body></parameters></invoke>"
    "</function_calls>",
    '<minimax:tool_call>\n<invoke name="set">\n<parameter name="body">§</parameter>\n</invoke>\n</minimax:tool_call>',
    "<tool_call>\n<function=set>\n<parameter=path>\nd.md\n</parameter>\n<parameter=body>\n§\n</parameter>\n</function>\n</tool_call>",
    "<function=set>" + _JSON + "</function>",
    '<function name="set"><param name="body">§</param></function>',
    '<function name="set">' + _JSON + "</function>",
    '<tool name="set"><path>d.md</path><body>§</body></tool>',
    "<tool>set</tool>\n<path>d.md</path>\n<body>§</body>",
    "<tool_call>set\n<arg_key>path</arg_key>\n<arg_value>d.md</arg_value>\n<arg_key>body</arg_key>\n<arg_value>§</arg_value>\n"
    "</tool_call>",
    "<tool_call>set(path='d.md', body='§')</tool_call>",
    "<|channel|>commentary to=functions.set <|constrain|>json<|message|>" + _JSON + "<|call|>",
    "<|start|>assistant<|channel|>commentary to=functions.set json " + _JSON + "<|call|>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.set:0<|tool_call_argument_begin|>"
    + _JSON
    + "<|tool_call_end|><|tool_calls_section_end|>",
    "functions.set:0" + _JSON,
    "<|tool_call_start|>[set(path='d.md', body='§')]<|tool_call_end|>",
    '<|python_tag|>set.call(path="d.md", body="§")<|eom_id|>',
    '<|python_start|>[set(path="d.md", body="§")]<|python_end|>',
    "[set(path='d.md', body='§')]",
    '[get(path="a"), functions.set(path="d.md", body="""§""")]',
    "<function_calls>\nset(path='d.md', body='§')\n</function_calls>",
    "```tool_code\nprint(default_api.set(path='d.md', body='§'))\n```",
    '<|START_ACTION|>[\n {"tool_call_id": "0", "tool_name": "set", "parameters": ' + _JSON + "}\n]<|END_ACTION|>",
    '<|tools_prefix|>[{"set": ' + _JSON + "}]<|tools_suffix|>",
    "Action: set\nAction Input: " + _JSON + "\nObservation: ",
    'Action: ```json\n[{"tool_name": "set", "parameters": ' + _JSON + "}]\n```",
    ">>>set\n" + _JSON,
    "<|recipient|>set\n<|content|>" + _JSON + "<|stop|>",
    'functools[{"name": "set", "arguments": ' + _JSON + "}]",
    '<TOOLCALL>[{"name": "set", "arguments": ' + _JSON + "}]</TOOLCALL>",
    '[TOOL_REQUEST]\n{"name": "set", "arguments": ' + _JSON + "}\n[END_TOOL_REQUEST]",
    '{"tool_name": "set", "tool_input": ' + _JSON + "}",
    '{"tool_uses": [{"recipient_name": "functions.set", "parameters": ' + _JSON + "}]}",
    '{"action": "set", "action_input": ' + _JSON + "}",
    '<|action_start|><|plugin|>{"name": "set", "parameters": ' + _JSON + "}<|action_end|>",
    "\u273fFUNCTION\u273f: set\n\u273fARGS\u273f: " + _JSON,
    *(
        text.replace("|", _BARS[0]).replace("_", _BARS[1])
        for text in (
            "<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>set\n```json\n"
            + _JSON
            + "\n```<|tool_call_end|><|tool_calls_end|>",
            "<|tool_calls_begin|><|tool_call_begin|>set<|tool_sep|>" + _JSON + "<|tool_call_end|><|tool_calls_end|>",
            '<|DSML|function_calls>\n<|DSML|invoke name="set">\n<|DSML|parameter name="body" string="true">§'
            "</|DSML|parameter>\n</|DSML|invoke>\n</|DSML|function_calls>",
        )
    ),
    "[THINK]§[/THINK]",
    "<|START_THINKING|>§<|END_THINKING|>",
    "\u25c1think\u25b7§\u25c1/think\u25b7",
    "<|channel>thought\n§<channel|>",
    "<|channel|>analysis<|message|>§<|end|>",
    "<tool_calls><tool_call>set<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>d.md</arg_value>\n<arg_key>body</arg_key>\n"
    "<arg_value>§</arg_value>\n</tool_call></tool_calls>",
    "<longcat_tool_call>set\n<longcat_arg_key>body</longcat_arg_key>\n<longcat_arg_value>§</longcat_arg_value>\n"
    "</longcat_tool_call>",
    "<|tool_call:start|>set\n<|tool_arg:start|>path<|tool_arg:value|>d.md<|tool_arg:end|>\n"
    "<|tool_arg:start|>body<|tool_arg:value|>§<|tool_arg:end|>\n<|tool_call:end|>",
    "<|tool_calls|><|tool_call:begin|>c1<|tool_call:name|>set<|tool_call:args|>" + _JSON + "<|tool_call:end|><|calls|>",
    '<|open|>tools<|sep|><|open|>call tool="set" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>d.md'
    '<|close|>argument<|sep|><|open|>argument key="body" type="string"<|sep|>§<|close|>argument<|sep|><|close|>call<|sep|>'
    "<|close|>tools<|sep|>",
    "<|open|>think<|sep|>§<|close|>think<|sep|>",
    ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="set">]<]minimax[>[<path>d.md]<]minimax[>[</path>'
    "]<]minimax[>[<body>§]<]minimax[>[</body>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    '<\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c><steptml:invoke name="set">'
    '<steptml:parameter name="path">d.md</steptml:parameter><steptml:parameter name="body">§</steptml:parameter>'
    "</steptml:invoke><\uff5ctool_call_end\uff5c>",
    "<seed:tool_call>\n<function=set>\n<parameter=path>d.md</parameter>\n<parameter=body>§</parameter>\n</function>\n"
    "</seed:tool_call>",
    '<invoke name="set">' + _JSON + "</invoke>",
    '<invoke name="set"><arguments>' + _JSON + "</arguments></invoke>",
    "<tool_call><name>set</name><arguments>" + _JSON + "</arguments></tool_call>",
    "<tool_call>\n<function=set>\n" + _JSON + "\n</function>\n</tool_call>",
    "<tool_call>\nset\n" + _JSON + "\n</tool_call>",
    "<tool_code>\nprint(set(path='d.md', body='§'))\n</tool_code>",
    "```tool_code\nget(path='a')\nset(path='d.md', body='''§''')\n```",
    "<function_calls>\nget(path='a')\nset(path='d.md', body=\"§\")\n</function_calls>",
    "[get(path='a'),\n set(path='d.md', tags=['x', '§'])]",
    "[set(path='d.md', extra={'k': '§'})]",
    "[set('§')]",
    '<|tool_call>call:set{path:d.md,opts:{a:<|"|>§<|"|>}}<tool_call|>',
    '<|tool_call>call:set{path:d.md,tags:[x,<|"|>§<|"|>]}<tool_call|>',
    "call:set{path:d.md,body:'§'}",
    ">>>all\nI write.>>>set\n" + _JSON,
    "**Action:** set\n**Action Input:** ```json\n" + _JSON + "\n```",
    '{"toolCalls": [{"toolName": "set", "args": ' + _JSON + "}]}",
    '{"name": "get", "parameters": {"path": "a"}}; {"name": "set", "parameters": ' + _JSON + "}",
    '<|python_tag|>{"name": "set", "parameters": ' + _JSON + "}<|eom_id|>",
    "<|inner_prefix|>§<|inner_suffix|>",
    "<|think:start|>§<|think:end|>",
    'functools[set(path="d.md", body="§")]',
    "commentary to=functions.set json" + _JSON,
    '<\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c>set\n<steptml:parameter name="path">d.md</steptml:parameter>'
    '<steptml:parameter name="body">§</steptml:parameter><\uff5ctool_call_end\uff5c>',
)
"""Notations besides the tools' own tags."""
OWN = (
    '<get path="§"/>',
    '<set path="d.md" body="§"/>',
    "<sh command='§'/>",
    '<ask_user question="§" options="a;b"/>',
    '<search query="§" results="5"/>',
    '<set path="d.md">\n§\n</set>',
    '<update status="200">§</update>',
    "<think>§</think>",
)
"""The tools' own tags."""
CHILDREN = (
    "<set><path>d.md</path><body>§</body></set>",
    "<set>\n<path>d.md</path>\n<content>\n§\n</content>\n<line_count>3</line_count>\n</set>",
    "<sh>\n<command>§</command>\n<requires_approval>false</requires_approval>\n</sh>",
    "<get><path>§</path><line>3</line></get>",
    "<get><args><file><path>a.md</path></file><file><path>§</path></file></args></get>",
)
"""Tags of tools whose arguments are child elements."""
SPOKEN = ("I will call set(path='d.md', body='§') now.",)
"""Calls in a sentence: nothing of them is run, and nothing need be told."""
CLOSED = ('<tool_response>{"text": "§"}</tool_response>', '<parameter name="body">§</parameter>')
"""What ends at its closing tag, whatever stands before that."""
THOUGHTS = (
    *(
        (f"<{name}>", f"</{name}>")
        for name in (
            *("think", "thinking", "Thinking", "thought", "reasoning", "reason", "reflection", "scratchpad"),
            *("inner_monologue", "seed:think", "mm:think", "redacted_thinking", "analysis", "chain_of_thought"),
            *("reasoning_content", "thinking_process", "cot"),
        )
    ),
    ("[THINK]", "[/THINK]"),
    ("[REASONING]", "[/REASONING]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>thinking<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
)
"""What opens thoughts, and what closes them."""
