"""The tokens and element names that calls are wrapped in, as patterns that several notations share."""

from __future__ import annotations

from functools import lru_cache

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, NAMESPACE, Grammar

BAR = "[|\uff5c]"
BAR_WORD = "[\\w\u2581:.-]"
"""A sign of the words between bars; DeepSeek writes U+2581 for a space."""
PREFIX = rf"(?:{NAMESPACE}|{BAR}DSML{BAR})"
"""What stands before the name of an element: a namespace, or DeepSeek's mark."""
MARK = "]<]minimax[>["
"""What MiniMax M3 writes before each tag."""
NOISE = r"(?:\]<\]minimax\[>\[)?"
"""The same where it may stand."""
GAP = lazy_regex(rf"\s*{NOISE}\s*")
"""What may stand between two tags."""
SUFFIX = r"(?::\w{1,20})?"
"""What Hunyuan writes behind the name of an element."""
_WORDS = r"tool[_\u2581]?calls?|function[_\u2581]?calls?|tool_?use|tool_?code|tool_request|tool_command"
WRAPPERS = rf"(?:[a-z]+_)?(?:{_WORDS}){SUFFIX}"
"""The names of elements around calls."""
OPENING = (
    rf"{BAR}(?!{BAR_WORD}*(?:end|sep|suffix|result|response|output))"
    rf"{BAR_WORD}{{0,30}}(?:tool|function|python_|action|plugin|recipient)[^<>\s]{{0,60}}>"
    rf"|{PREFIX}{WRAPPERS}(?:\s[^<>]{{0,200}})?>|\|?tool_calls?(?:_begin)?\|?>|start_function_call>"
)
"""Opening tokens around calls, without the `<`."""
_NO_THOUGHT = rf"(?!/?{BAR_WORD}*(?:think|thought|reason|reflection|inner)(?!\w*tool))"
CLOSING = (
    rf"</{PREFIX}{WRAPPERS}\s*>|</{BAR}DSML{BAR}(?!param|invoke)[^<>\s]{{1,80}}>|<tool_calls?\|>|<end_function_call>"
    rf"|<\|/?tool_call(?:_end)?\|>|<{BAR}{_NO_THOUGHT}{BAR_WORD}{{0,60}}(?:end|END|suffix){BAR_WORD}{{0,20}}{BAR}>"
    rf"|<\|{_NO_THOUGHT}/[\w.-]{{1,40}}\|?>|\[END_TOOL_REQUEST\]|<\|(?:eom_id|eot_id|stop|call|calls|flush)\|>|</?s>(?=\s*\Z)"
)
"""Closing tokens."""
CONTROLS = (
    rf"/{PREFIX}(?:{WRAPPERS}|invoke|function|tool_call_section)>|end_function_call>|/s>(?=\s*\Z)"
    rf"|{BAR}(?:open|close){BAR}>\w{{1,20}}<{BAR}sep{BAR}>"
    r"|\|(?:from|im_start)\|>\s*assistant\b|(?:start|end)_of_turn>|(?:start|end)_function_response>|\|/?[\w/.:-]{1,40}\|?>|/?[\w.-]{1,40}\|>"
    rf"|\uff5c{BAR_WORD}{{1,60}}\uff5c>"
)
"""Closing and turn-taking tokens, without the `<`; outside of calls they are removed."""
SILENT = lazy_regex(
    rf"</|<(?:start|end)_|<\|?/?(?:tool_calls?(?:_begin|_end)?|end|call|calls|return|start|channel|message|constrain)\|?>"
    rf"|<{BAR}(?:open|close){BAR}>|<{BAR}{BAR_WORD}{{0,40}}(?:tool|action|python|function|content|recipient|plugin)"
    r"|<\|(?:im_(?:start|end)|eot|eom|eot_id|eom_id|endoftext|end_of_text|begin_of_text|begin_of_box|end_of_box|stop|from|flush|think"
    r"|START_\w+|END_\w+|inner_\w+|assistant_end|role_sep|message_sep)\|>"
    "|<\uff5c(?:end|begin)\u2581of\u2581sentence\uff5c>",
    FLAGS,
)
"""Those of `CONTROLS` that are no sign of anything wrong."""


@lru_cache(maxsize=64)
def tool_names(grammar: Grammar) -> str:
    """A pattern for the name of any tool, with what may stand before it: `functions.get`."""
    return rf"(?:[\w-]{{1,40}}[.:/]){{0,3}}(?:{'|'.join(sorted(grammar.names | grammar.thoughts))})"
