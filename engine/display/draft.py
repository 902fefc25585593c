"""What the model has written of a response, while it writes it."""

from __future__ import annotations

import re

_HALF_A_TAG = re.compile(r"</?[a-z]*$")


class Draft:
    """What the model has written of a response: its prose, and the answer that it gives with its last update."""

    def __init__(self) -> None:
        self.characters = 0
        self.prose = ""
        self._pieces: list[str] = []

    def hear(self, text: str) -> None:
        """Take a piece of the response as it arrives, markup and all."""
        self.characters += len(text)
        self._pieces.append(text)

    def tell(self, at: int, text: str) -> None:
        """Take prose, which is `text` from the character `at` on."""
        self.prose = self.prose[:at] + text

    def text(self) -> str:
        """The prose and the answer, as far as they are written."""
        return "\n".join(filter(None, (self.prose.strip("\n"), self.answer())))

    def answer(self) -> str:
        """The body of the update that ends the loop, as far as it is written."""
        self._pieces = ["".join(self._pieces)]
        _, mark, last = self._pieces[0].rpartition("<update")
        head, closed, body = last.partition(">")
        is_answer = mark and closed and re.search(r"status\s*=\s*[\"']?200", head)
        return _HALF_A_TAG.sub("", body.partition("</update")[0]).strip() if is_answer else ""
