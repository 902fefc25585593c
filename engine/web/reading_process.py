"""The program that makes text of a page, in a process of its own: what it reads comes from anybody.

Run as a script, it reads one request from its input, JSON in a line and then the bytes of the page, and writes one reply.
It does without the package `engine`.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import resource
import signal
import sys
from typing import Any

_HTML = ("text/html", "application/xhtml+xml")
_META = re.compile(
    rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE
)
_BEGINNING = 4096
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def main() -> None:
    """Answer one request. The arguments are the folders of the libraries, bytes of memory, seconds of CPU and characters of
    text, all as JSON."""
    folders, memory, seconds, most = json.loads(sys.argv[1])
    sys.path[:] = folders
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(kind, (0, 0))
    request = json.loads(sys.stdin.buffer.readline())
    signal.signal(signal.SIGALRM, _stop_reading)
    signal.setitimer(signal.ITIMER_REAL, seconds / 2)
    try:
        reply = read(sys.stdin.buffer.read(), **request)
        if len(reply["text"] or "") > most:
            reply = {"failure": "is too large", "large": True}
    except MemoryError:
        reply = {"failure": "needs too much memory to be read"}
    except _TooSlow:
        reply = {"failure": "takes too long to be read"}
    except Unreadable as error:
        reply = {"failure": str(error), "extra": error.extra}
    except Exception as error:
        reply = {"failure": f"cannot be read ({type(error).__name__}: {str(error)[:200]})"}
    sys.stdout.buffer.write(json.dumps(reply).encode())


class _TooSlow(Exception):  # noqa: N818 - it is no error
    """Half of the time is over."""


class Unreadable(Exception):  # noqa: N818 - it is told as the reason
    """Why a page has no text; `extra` is the extra of the engine that reads it, where one does."""

    def __init__(self, reason: str, extra: str | None = None) -> None:
        self.extra = extra
        super().__init__(reason)


def read(body: bytes, content_type: str, charset: str | None, url: str) -> dict[str, Any]:
    """The `text`, `title` and `date` (YYYY-MM-DD) of a page; what is unknown is None. Raises `Unreadable`."""
    if content_type == "application/pdf" or body.startswith(b"%PDF-"):
        return _read_pdf(body)
    if content_type == "" and b"\0" in body[:8192] and not body.startswith(tuple(mark for mark, _ in _MARKS)):
        raise Unreadable("is not text")
    text = decode(body, charset)
    if content_type in _HTML or (content_type == "" and re.match(r"\s*<(!doctype html|html)\b", text, re.IGNORECASE)):
        return _read_html(text, url)
    return {"text": text, "title": None, "date": None}


def decode(body: bytes, charset: str | None) -> str:
    """The text of a body: by its byte order mark, the charset that the server named, the one that it names itself, as
    UTF-8, or as what it looks like.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    named = _META.search(body[:_BEGINNING])
    own = (named[1] or named[2]).decode() if named else None
    for name in filter(None, (charset, own)):
        try:
            # what calls itself by the older name is read as browsers do
            return body.decode({"iso-8859-1": "cp1252", "latin-1": "cp1252"}.get(name.lower(), name), "replace")
        except (LookupError, ValueError):  # ValueError: a name with a NUL, or bytes that are none of it
            continue
    try:
        return body.decode()
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes

        found = from_bytes(body[:200_000]).best()
        return body.decode(found.encoding if found else "cp1252", "replace")


def _read_html(text: str, url: str) -> dict[str, Any]:
    """The readable text of a page as Markdown; all of its text where none reads like an article or that takes too long."""
    import trafilatura

    readable, title, date = None, None, None
    try:
        about = trafilatura.extract_metadata(text, default_url=url)
        title, date = about.title, about.date
        readable = trafilatura.extract(
            text,
            url=url,
            output_format="markdown",
            include_links=True,
            include_formatting=True,
            include_tables=True,
            include_comments=False,
            favor_recall=True,
        )
    except _TooSlow:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"text": readable or _all_text(text), "title": title, "date": date}


def _all_text(text: str) -> str:
    """The text of each element in a line of its own; what is no text, such as a script, left out."""
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        tree = html.document_fromstring(text.encode(errors="replace"), parser=html.HTMLParser(encoding="utf-8"))
    except etree.ParserError:
        return ""
    etree.strip_elements(tree, "script", "style", "template", "title", with_tail=False)
    lines = (" ".join(piece.split()) for piece in tree.xpath("//text()"))
    return "\n".join(line for line in lines if line)


def _stop_reading(*_: Any) -> None:
    raise _TooSlow


def _read_pdf(body: bytes) -> dict[str, Any]:
    try:
        import pypdf
    except ImportError:
        raise Unreadable("is a PDF, which is read with the extra 'pdf'", extra="pdf") from None

    reader = pypdf.PdfReader(io.BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("is a PDF that asks for a password")
    text = "\n\n".join(page.extract_text() for page in reader.pages)
    if not text.strip():
        raise Unreadable("is a PDF without text; it may be of scanned images")
    about = reader.metadata
    date = about.creation_date if about else None
    return {"text": text, "title": about.title if about else None, "date": date.strftime("%Y-%m-%d") if date else None}


if __name__ == "__main__":
    main()
