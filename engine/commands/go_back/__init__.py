"""The commands of the group Go back: undo, rewind, fork."""
