"""`python -m engine` is the same as the command `engine`."""

from engine.cli import main

main()
