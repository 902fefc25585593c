"""The inspector's pages in a real browser, one for all tests.

1. No text of others becomes a part of a page. 2. axe finds nothing, and nothing is wider than a small screen, in light and
dark. 3. Pages follow a run of another process, and keep what is open or typed. 4. Decisions by keys and clicks. 5. Static
pages work from a folder.

spec: @inspector_pages @inspector_texts @inspector_live @inspector_writes @inspector_export
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import chromium, overflow, violations
from driving import DONE, GO_ON, script
from every_run import every_run
from inspecting import Served, addresses, served

import engine
from engine.inspector.drawing import MOST
from engine.inspector.export import export_run
from engine.inspector.markdown import as_markdown
from tests.pictures import gallery
from tests.pictures.showcase import showcase

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = [
    "<script>pwned()</script>",
    "</pre></textarea></title></script><script>pwned()</script>",
    '"><img src=x onerror=pwned()>',
    "' onmouseover=pwned() autofocus onfocus=pwned() x='",
    "<svg onload=pwned()><animate onbegin=pwned() attributeName=x dur=1s>",
    "<iframe src=https://evil.example/></iframe><base href=https://evil.example/>",
    "[a](javascript:pwned()) [b](JaVaScRiPt&colon;pwned()) [c](data:text/html,<script>pwned()</script>)",
    "<javascript:pwned()> <https://evil.example/>",
    "![p](https://evil.example/p.png) ![q](x' onerror='pwned())",
    "[x]: javascript:pwned()\n\n[x] [y](//evil.example/) [z](\\\\evil.example)",
    "<style>body{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>",
    "<form action=https://evil.example/><button>Accept</button></form><meta http-equiv=refresh content=0;url=https://evil.example>",
    "\u202egnihtyna\u202c \u2066x\u2069 a\u0000b \x1b[31mred",
    "{{ 7 * 7 }}{% raw %} ${7*7} <!-- --><![CDATA[ ]]>",
]
LIVE = """
import sys, engine
with engine.open(sys.argv[1]) as db:
    db.resolve("waits", accept=True)
    db.resume("waits")
    db.run("Look again", run="watched", model=sys.argv[2], root=sys.argv[3])
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of two files with runs in every state; these tests only read them."""
    with served(*(every_run().put(tmp_path_factory.mktemp(name)) for name in ("every", "<b>run"))) as found:
        yield found


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the gallery."""
    return showcase(tmp_path_factory.mktemp("day"))


@contextmanager
def opened(browser: Browser, place: Served, **options: Any) -> Iterator[Page]:
    """A page that has come in; whatever it loads from elsewhere, breaks its policy or fails in a script is an error."""
    with browser.new_context(viewport={"width": 1280, "height": 800}, **options) as context:
        page = context.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("response", lambda got: wrong.append(f"{got.status} {got.url}") if got.status >= 400 else None)
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
        page.on("request", lambda asked: None if asked.url.startswith(place.url) else wrong.append(asked.url))
        page.expose_function("pwned", lambda *_: wrong.append("pwned"))
        page.goto(place.address)
        yield page
        assert wrong == []


def hostile_file(folder: Path) -> Path:
    """A run whose every text is an attack: prompt, answers, thoughts, paths, files, outputs, errors, reasons, names."""
    (folder / "work").mkdir()
    everything = "\n".join(HOSTILE)
    answers = [
        f'{text}\n<set path="known://n{at}/{"x" * at}">{text}</set><sh>printf %s {json.dumps(text)}</sh>{GO_ON}'
        for at, text in enumerate(HOSTILE[:-2])
    ]
    long_line = "<b>" + "A" * 1_000_000
    with engine.open(folder / "t.db") as db:
        model = script(
            folder,
            *answers,
            f'<set path="a<img src=x onerror=pwned()>.md">{everything}</set>' + GO_ON,
            f'<think>{everything}</think><set path="known://long">{long_line[:5_000]}</set>' + GO_ON,
            f'<update status="200">{everything}</update>',
        )
        options: dict[str, Any] = {"root": folder / "work", "yolo": True, "sandbox": "off"}
        db.run(everything, run="hostile", model=model, system_prompt=everything, **options)
        db.execute("update runs set title = ?, labels = ?", (HOSTILE[2], json.dumps(HOSTILE)))
        for at, text in enumerate(HOSTILE[:4]):
            asks = script(folder, f"<ask_user>{text}</ask_user>", DONE)
            db.run(long_line if at == 0 else text, run=f"asks{at}", model=asks, root=folder / "work")
        writes = script(folder, f'<set path="new.md">{everything}\n{long_line[:200_000]}</set>', DONE)
        db.run("Write it", run="writes", model=writes, root=folder / "work")
    return folder / "t.db"


def test_no_text_of_others_becomes_a_part_of_a_page(browser: Browser, tmp_path: Path) -> None:
    path = hostile_file(tmp_path)
    with engine.open(path, read_only=True) as db:
        found = addresses(db, ["hostile"])
        found += ["/run?run=writes", "/turn?run=hostile&turn=3", "/turn?run=hostile&turn=12", "/turn?run=writes&turn=1"]
        found += [
            "/sql?q=select+*+from+said",
            "/sql?q=%22%3E%3Cscript%3Epwned()%3C/script%3E",
            "/?q=%22onfocus=pwned()+",
        ]
        found += [
            "/why?run=hostile&name=%3Cimg+src%3Dx+onerror%3Dpwned()%3E",
            "/?told=%3Cscript%3Epwned()%3C/script%3E",
        ]
    named = tmp_path / "<img src=x onerror=pwned()>.db"
    named.write_bytes(every_run().database)
    with served(path, named) as place, opened(browser, place) as page:
        for address in ["/?db=0", *found]:
            page.goto(place.url + address, wait_until="load")
            parts = page.evaluate("""() => [...document.querySelectorAll("*")].filter(each =>
                ["IFRAME", "IMG", "OBJECT", "EMBED", "BASE", "STYLE", "ANIMATE"].includes(each.tagName)
                || each.matches("meta[http-equiv], form[action^='http'], script:not([src^='/static/'])")
                || [...each.attributes].some(a => a.name.startsWith("on") || a.name === "style")
                || (each.href && !each.href.baseVal && !/^(https?|mailto):/.test(each.href))
            ).map(each => each.outerHTML.slice(0, 200))""")
            assert parts == [], address
            assert page.evaluate("getComputedStyle(document.body).display") == "block"
            assert len(page.content()) < 3_000_000, address
        page.goto(f"{place.url}/run?run=hostile&page=1")
        shown = page.inner_text("main")
        assert HOSTILE[0] in shown
        assert "\u202e" not in shown
        assert "\\u{202e}" in shown


def test_markdown_is_drawn_and_says_where_a_link_leads() -> None:
    drawn = as_markdown("# T\n\n**b** `c` [l](https://example.org/?a=1&b=2)\n\n| a |\n|---|\n| 1 |\n\n- x\n")
    assert '<p class="heading">T</p>' in drawn
    assert "<strong>b</strong> <code>c</code>" in drawn
    assert '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow">l</a>' in drawn
    assert "<td>1</td>" in drawn
    assert as_markdown("<b>" * 60_000).startswith("<pre>&lt;b&gt;")
    assert MOST < 60_000


def test_everybody_can_read_every_page(browser: Browser, place: Served) -> None:
    """In dark on a small screen; the pages that an auditor reads are light and wide."""
    with engine.open(place.inspector.files[0].path, read_only=True) as db:
        found = [each for each in addresses(db, ["demo"]) if not each.startswith("/entry?")]
    with opened(browser, place, color_scheme="dark") as page:
        page.set_viewport_size({"width": 400, "height": 800})
        for address in ("/?db=0", *found, "/entry?run=demo&path=notes.md", "/sql?q=select+*+from+run_overview"):
            page.goto(place.url + address)
            for fold in ("#new-run", "#ask-options"):
                if page.locator(fold).count():
                    page.locator(f"{fold} > summary").click()
            assert (address, violations(page), overflow(page)) == (address, [], 0)


def test_a_page_follows_a_run_of_another_process_and_keeps_what_is_open(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = tmp_path / "t.db"
    told = "\n".join(f"line {number}" for number in range(40))
    with engine.open(path) as db:
        model = script(
            tmp_path,
            f"<sh>echo '{told}'</sh>{GO_ON}", DONE,
            '<set path="known://a">The second look</set>' + GO_ON, '<update status="200">Seen.</update>',
        )  # fmt: skip
        db.run("Look", run="watched", model=model, root=tmp_path / "work", yolo=True, sandbox="off")
        waits = script(tmp_path, f'<set path="new.md">new</set>{GO_ON}', DONE)
        db.run("Write", run="waits", model=waits, root=tmp_path / "work")
    with served(path, path) as place, opened(browser, place) as page:
        turn, why, every = (page.context.new_page() for _ in range(3))
        turn.goto(f"{place.url}/turn?run=waits&turn=1")
        why.goto(f"{place.url}/why?run=waits&name=new.md")
        every.goto(place.url)
        page.goto(f"{place.url}/run?run=watched")
        page.wait_for_selector("#live.on")
        page.locator(".command details summary").first.click()
        page.fill("#ask", "half a thought")
        page.evaluate("window.same = document")
        with subprocess.Popen([sys.executable, "-c", LIVE, str(path), model, str(tmp_path / "work")]) as other:
            page.wait_for_selector("text=The second look")
            page.wait_for_selector("#answer-2 >> text=Seen.")
            assert other.wait(60) == 0
        turn.wait_for_selector("#turns >> text=turn 2 →")
        assert "accepted by" in turn.inner_text("#outcome")
        why.wait_for_selector("#reasons >> text=accepted writing new.md")
        every.wait_for_selector("#tiles .wide b >> text=12")
        assert page.evaluate("window.same === document")
        assert page.input_value("#ask") == "half a thought"
        assert page.locator(".timeline > li[id]").evaluate_all("all => all.map(each => each.id)") == [
            "prompt-1", "turn-1", "turn-2", "answer-1", "prompt-2", "turn-3", "turn-4", "answer-2",
        ]  # fmt: skip
        assert page.locator("#turn-1 details").first.evaluate("fold => fold.open")


def test_a_person_decides_and_prompts_with_keys(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = tmp_path / "t.db"
    with engine.open(path) as db:
        for run, answer in (
            ("asks", "<ask_user>Which <b>year</b>?</ask_user>"),
            ("writes", '<set path="n.md">one\n</set>'),
        ):
            db.run("Do it", run=run, model=script(tmp_path, answer, DONE), root=tmp_path / "work")
    with served(path) as place, opened(browser, place) as page:
        page.wait_for_selector("#live.on")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/run?run=*")
        page.keyboard.press("g")
        page.keyboard.press("p")
        page.wait_for_url("**/proposals")
        asked = page.locator(".proposal", has_text="ask_user")
        asked.get_by_label("In words").fill("2027")
        asked.get_by_role("button", name="Answer").click()
        page.wait_for_selector("text=Accepted. No process drives the run: engine resume asks")
        page.locator("summary", has_text="Edit before it is written").click()
        page.locator("textarea[name=body]").fill("two\nthree\n")
        page.get_by_role("button", name="Accept").click()
        page.wait_for_selector("text=Nothing waits for you")
        page.goto(f"{place.url}/run?run=writes")
        page.fill("#ask", "And <i>more</i>")
        page.get_by_role("button", name="Send").click()
        page.wait_for_selector("text=The prompt waits in line.")
        page.wait_for_selector("#live.on")
        page.keyboard.press("?")
        assert page.locator("dialog").is_visible()
        page.keyboard.press("Escape")
        before = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        page.keyboard.press("t")
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != before
    with engine.open(path) as db:
        assert db.resume("asks").status == 200
        db.resume("writes")
        assert db.value("select body from decisions where run = 'asks'") == "2027"
        assert db.value("select prompt from loop_list where run = 'writes' and loop = 2") == "And <i>more</i>"
    assert (tmp_path / "work" / "n.md").read_text() == "two\nthree\n"


def test_static_pages_work_from_a_folder(browser: Browser, tmp_path: Path) -> None:
    path = every_run().put(tmp_path)
    with engine.open(path, read_only=True) as db:
        export_run(db, "demo", tmp_path / "pages")
    with browser.new_context() as context:
        page = context.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto((tmp_path / "pages" / "index.html").as_uri())
        page.get_by_role("link", name="Turn 3").click()
        page.wait_for_selector("h1 >> text=Turn 3")
        page.keyboard.press("]")
        page.wait_for_selector("h1 >> text=Turn 4")
        page.get_by_role("link", name="demo", exact=True).click()
        page.get_by_role("link", name="Why").first.click()
        page.wait_for_selector(".reasons")
        assert page.locator("form:not([method=dialog])").count() == 0
        assert wrong == []


QUESTIONS = {
    "What was asked?": ("run", "Raise the number of berths to 12, with its test"),
    "What was answered?": ("run", "There are now 12 berths."),
    "What did turn 2 cost?": ("run", "$0.0111"),
    "What did a command print?": ("run", "1 passed"),
    "Which change was accepted, and by whom?": ("run", "accepted by yolo"),
    "What fills the context?": ("run", "summarized, "),
    "What exactly was the model sent on turn 3?": ("run Turn_3", '<prompt mode="act">'),
    "What did it say, word by word?": ("run Turn_3", "<sh>python3 -m pytest"),
    "What had changed for it since the turn before?": ("run Turn_3", "appeared"),
    "Which files changed?": ("run Entries_and_files", "tests/test_berths.py"),
    "How did a file come to be as it is?": ("run Entries_and_files harbour/berths.py", "+LIMIT = 12"),
    "Who asked for that change?": ("run Entries_and_files harbour/berths.py", "asked for: Raise the number"),
    "Why did the run end?": ("run Why", "It ended as done."),
    "Who decided what?": ("run Rules_and_threads", "file write"),
    "Was the result checked?": ("run Rules_and_threads", "grep -q 12 harbour/berths.py"),
    "Has anybody changed the record?": ("run Record", "Nobody has changed the record"),
    "Who gave work to whom?": ("Review_the_package Tree", "review-2"),
    "What did a step of a workflow wait for?": ("Workflow_release:_Prepare_a_release Tree", "check, notes"),
    "What waits for me?": ("Proposals", "Which berth is for the ferry"),
    "Which model cost most?": ("Costs", "careful"),
}
"""The questions of an auditor: what is clicked from the page of the runs on, and what stands there then."""


def clicked(page: Page, name: str) -> str | None:
    """Where the link leads that begins with the name."""
    wanted = "Raise the number of berths to 12, with its test" if name == "run" else name.replace("_", " ")
    named = re.compile("^" + re.escape(wanted).replace("/", "."))
    return page.get_by_role("link", name=named).first.get_attribute("href")


def test_an_auditor_finds_the_answers_in_three_clicks(browser: Browser, day: Path) -> None:
    paths = {clicks: clicks.split() for clicks, _ in QUESTIONS.values()}
    assert max(len(path) for path in paths.values()) == 3
    missing, unreadable = [], []
    with served(day) as place, opened(browser, place, color_scheme="light") as page:
        page.set_viewport_size({"width": 1280, "height": 6_000})  # what is below the window is not laid out

        def visit(before: list[str], address: str) -> None:
            """Look for the answers on a page, and go on by the links that are clicked there."""
            page.goto(place.url + address)
            shown = page.inner_text("main")
            missing.extend(
                question
                for question, (clicks, answer) in QUESTIONS.items()
                if clicks.split() == before and answer not in shown
            )
            if len(before) != 1:
                unreadable.extend(violations(page))
            leads = {
                path[len(before)]: ""
                for path in paths.values()
                if len(path) > len(before) and path[: len(before)] == before
            }
            leads |= {name: clicked(page, name) or "" for name in leads}
            for name, lead in leads.items():
                visit([*before, name], lead)

        visit([], "/")
    assert (missing, unreadable) == ([], [])


def test_the_gallery_shows_each_page(browser: Browser, day: Path, tmp_path: Path) -> None:
    folder = Path(os.environ.get("ENGINE_GALLERY") or tmp_path)
    pages = gallery.PAGES if "ENGINE_GALLERY" in os.environ else dict(list(gallery.PAGES.items())[5:6])
    pictures = gallery.gallery(browser, day, folder, pages)
    assert len(pictures) == (len(pages) + len(gallery.ALL)) * len(gallery.THEMES)
    assert all(picture.read_bytes()[8:12] == b"WEBP" and picture.stat().st_size > 4_000 for picture in pictures)
