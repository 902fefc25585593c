"""What a new run is called where nobody names it: the first words of its prompt, then with -2, -3, ….

spec: @default_names
"""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

from engine.handle import Handle

MOST = 24
"""Characters of a name before its number; a longer prompt is cut at a word."""
_WITHOUT_WORDS = "run"
"""The name for a prompt without a letter that a name can have."""
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
_READ = 400
"""Characters of a prompt that are looked at."""

_IS_TAKEN = "exists (select 1 from runs where alias = :base || iif(tried = 1, '', '-' || tried))"
# A free name of base, base-2, base-3, …: the number is doubled until its name is free, then the gap is halved. A run
# has the name of 'taken', none has that of 'free'.
_FREE = f"""
    with recursive numbers (taken, tried, free) as (
        select 0, 1, null
        union all
        select
            iif({_IS_TAKEN}, tried, taken),
            iif({_IS_TAKEN}, iif(free is null, tried * 2, (tried + free) / 2), (taken + tried) / 2),
            iif({_IS_TAKEN}, free, tried)
        from numbers
        where free is null or free - taken > 1
    )
    select :base || iif(free = 1, '', '-' || free)
    from numbers
    where free - taken = 1
"""  # noqa: S608 - a constant


def words_of(prompt: str) -> str:
    """The first words of a prompt as a name: letters without accents, digits and '-'; 'run' where it has none.

    A name that is only a number would be taken for a turn: it begins with 'run-'.
    """
    plain = unicodedata.normalize("NFKD", prompt[:_READ].lower().translate(_LETTERS))
    words = re.findall("[a-z0-9]+", re.sub(r"[\u0300-\u036f'’]", "", plain))
    lengths = accumulate(len(word) + 1 for word in words)
    fitting = [word for word, length in zip(words, lengths, strict=True) if length <= MOST + 1]
    name = "-".join(fitting) or "".join(words[:1])[:MOST] or _WITHOUT_WORDS
    return f"{_WITHOUT_WORDS}-{name}" if name.isdigit() else name


def free_name(db: Handle, base: str) -> str:
    """`base`, or with a number behind it that makes a name that no run has."""
    return str(db.value(_FREE, {"base": base}))
