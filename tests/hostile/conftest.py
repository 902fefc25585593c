"""What the hostile tests share with those of the engine: servers, command lines, scripts."""

from __future__ import annotations

import sys
from pathlib import Path

# at the end: `tests/engine` is no package, and the folders above it stand first
sys.path.append(str(Path(__file__).parent.parent / "engine"))
