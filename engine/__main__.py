"""`python -m engine` is the same as the command `engine`, exit code included."""

import sys

from engine.cli import main

sys.exit(main())
