"""Behavioural threads: read from files, and joined to the connection that drives."""
