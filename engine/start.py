"""Where the command `engine` begins. Importing the rest takes longest of all that a short command does.

spec: @start
"""

import gc
import signal
import sys

from .version import version_line


def main() -> int:
    """Run the command line of this process, and return the exit code.

    Ctrl-C ends it at once until all is imported, and again when all is done. The version alone is told without any of that.
    """
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{version_line()}\n")
        return 0
    if interrupts := signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # not by an exception, which may come where none is expected and is told with a traceback
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # what is imported stays: to look through it again and again takes a tenth of the time
    from engine.cli.main import main as run

    gc.enable()
    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run()
    finally:
        if interrupts:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
