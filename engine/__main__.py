"""`python -m engine` is the same as the command `engine`, exit code included."""

import sys

from engine.start import main

sys.exit(main())
