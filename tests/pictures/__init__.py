"""The pictures of the README: a session at a terminal, drawn from a real run, and the way of a turn."""
