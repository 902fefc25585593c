"""Driving a run: its lease, its steps, the calls of its model, its children, and what is told meanwhile."""
