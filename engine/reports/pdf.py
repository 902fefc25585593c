"""A report as PDF, printed by a Chromium of this machine.

spec: @report
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from engine.errors import EngineError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""The names under which a Chromium is looked for."""
_SECONDS = 60


def pdf(page: str) -> bytes:
    """The page as PDF. Raises `EngineError` (501) where no Chromium is installed, and (500) where it prints nothing."""
    found = found_browser()
    if found is None:
        raise EngineError(
            "PDF needs Chromium, which is not installed; install chromium, or write .html and print it", 501
        )
    with tempfile.TemporaryDirectory(prefix="engine-report-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8")
        options = [
            "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-pdf-header-footer",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri(),
        ]  # fmt: skip
        # as root it starts only without its own sandbox; the page lets no script run, and loads nothing
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            ended = subprocess.run([found, *root, *options], capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise EngineError(f"{found} has printed nothing within {_SECONDS} s") from None
        if ended.returncode or not target.exists():
            raise EngineError(f"{found} printed nothing: {ended.stderr.decode(errors='replace')[-300:].strip()}")
        return target.read_bytes()


def found_browser() -> str | None:
    """The path of a Chromium on this machine; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)
