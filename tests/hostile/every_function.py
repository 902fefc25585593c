"""A program: calls every registered function with hostile values, each call with a limit of CPU and memory.

It prints a line of JSON for each call that took too long or raised something else than an error of the engine, and `done`
at the end. The test beside it runs it in a process of its own, which the kernel ends at its limits.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from engine.errors import EngineError
from engine.schema.registration import pure_functions

SIZE = 20_000
"""Characters of a long text."""
SECONDS = 20.0
"""CPU time of one call; a function that changes texts may take 5 s by its own limit."""
MEMORY = 3_000_000_000


def texts(size: int) -> dict[str, str]:
    """Long texts by what is hostile about them."""
    return {
        "one letter": "a" * size,
        "line feeds": "\n" * size,
        "open brackets": "[" * size,
        "open braces": '{"a":' * (size // 5),
        "open parentheses": "(" * size,
        "open tags": "<set>" * (size // 5),
        "less than": "a<" * (size // 2),
        "nested tags": "<a>" * (size // 7) + "</a>" * (size // 7),
        "markers": "<<SEARCH\na\nSEARCH\n<<REPLACE\nb\nREPLACE\n" * (size // 40),
        "substitutions": "s/a/aaaaaaaaaaaaaaaaaaaa/g\n" * (size // 27),
        "patch": "*** Begin Patch\n*** Update File: f\n" + "@@ a\n-a\n+b\n" * (size // 12) + "*** End Patch",
        "diff": "--- a/f\n+++ b/f\n" + "@@ -1 +1 @@\n-a\n+b\n" * (size // 18),
        "blocks": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n" * (size // 42),
        "fences": "```\n" * (size // 4),
        "stars": "*" * size,
        "alternatives": "{a,b}" * (size // 5),
        "backslashes": "\\" * size,
        "quotes": "\"'" * (size // 2),
        "combining": "a" + "\u0301" * size,
        "folding": "\u0130ﬃ" * (size // 2),
        "surrogates": "\ud800" * size,
        "nul": "\0" * size,
        "directions": "\u202e\u2028" * (size // 2),
        "minus": "-" * size,
        "lambda": "lambda " * (size // 7),
        "xml": "<r>" + "<a/>" * (size // 4) + "</r>",
        "json": "[" + "1," * (size // 2) + "1]",
        "numbers": "9" * size,
    }


SMALL: list[Any] = [
    None, "", 0, 1, -1,
    2**63 - 1, -(2**63), 1e308, float("inf"), float("-inf"), float("nan"), b"",
    b"\xff" * 1000,
    "\ud800", "\0", "{}", "[]", "null", "1e999", '{"a":1e999}', "[{}]", '["a"]', '{"properties":1}', "a.py", "a.cs",
    "a.java",
    '[{"name":"a","schema":{"properties":{"a":{"enum":[]}}}}]',
]  # fmt: skip

PATTERNS = [
    "/(a|a)*b/", "/(a*)*b/", "/(?:a?){40}a{40}/", "/(?:(?:a{90}){90}){90}/",
    r"/(.*)(.*)(.*)\1x/s", "/(?R)|a/", "/(?e)(?:a){e}b/",
    "/(?:foo){e<=9}/", "/((((((((((a*)*)*)*)*)*)*)*)*)*$x/", "*a*a*a*a*a*a*b", "!(a)!(a)!(a)!(a)b", "**/" * 300 + "x",
    "{a,b}" * 400 + "*", "[" * 2000 + "*", "$..[?count(@..*)>9999999]", "$..*..*", "$[?search(@,'(a|a)*b')]",
    "/r/*[../*[../*[@q]]]", "//*//*", "//a[count(//*)>99999999]", "//*[contains(concat(.,.,.,.),'zz')]", "//a[" + "(" * 2000,
    "$[?" + "(" * 2000, "s/a/aaaaaaaaaaaaaaaaaaaa/g;" * 100, "s/(?=(.*))/\\1\\1\\1\\1/gs", "s/(a*)*b/c/",
]  # fmt: skip


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each call by its name: long texts in every place, small hostile values in every place, patterns on every text."""
    long = texts(SIZE)
    names = {function.name for function in pure_functions()}
    for function in pure_functions():
        count = function.arguments if function.arguments >= 0 else 2
        for kind, text in long.items():
            for place in range(count):
                given: list[Any] = ["a.cs" if other < place else "[]" for other in range(count)]
                given[place] = text
                yield f"{function.name}: {kind} at {place}", _call(function.call, given)
            if count > 1:
                yield f"{function.name}: {kind} everywhere", _call(function.call, [text] * count)
        for value in SMALL:
            for place in range(count):
                given = ["{}"] * count
                given[place] = value
                yield f"{function.name}: {value!r} at {place}", _call(function.call, given)
    if "pattern_match" in names:
        by_name = {function.name: function.call for function in pure_functions()}
        for pattern in PATTERNS:
            for kind in ("one letter", "xml", "json"):
                for name in ("pattern_match", "pattern_search"):
                    yield f"{name}: {pattern[:60]!r} on {kind}", _call(by_name[name], [pattern, long[kind]])
                replacing = _call(by_name["pattern_replace"], [pattern, "new", long[kind]])
                yield f"pattern_replace: {pattern[:60]!r} on {kind}", replacing
            yield f"pattern_error: {pattern[:60]!r}", _call(by_name["pattern_error"], [pattern])


def _call(function: Callable[..., Any], given: list[Any]) -> Callable[[], Any]:
    return lambda: function(*given)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    from engine.functions.limits import Allowance
    from engine.functions.patterns import helper

    helper.QUERY_SECONDS = 0.2
    for number, (name, call) in enumerate(calls()):
        if number % parts != part:
            continue
        spent = time.process_time()
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        resource.setrlimit(resource.RLIMIT_CPU, (int(used + 4 * SECONDS), resource.RLIM_INFINITY))
        print(json.dumps({"began": name}), flush=True)
        try:
            with Allowance():
                call()
        except EngineError:
            pass
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
            pass  # a value of a kind that the function is never given; in SQL that is a 400 which names the function
        except BaseException as error:
            print(json.dumps({"raised": name, "error": repr(error)[:200]}), flush=True)
        took = time.process_time() - spent
        if took > SECONDS:
            print(json.dumps({"slow": name, "seconds": round(took, 2)}), flush=True)
        if len(sys.argv) > 3 and took > 0.5:
            print(json.dumps({"note": name, "seconds": round(took, 2)}), flush=True)
    print(json.dumps({"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))
    print(json.dumps("done"))


if __name__ == "__main__":
    main()
