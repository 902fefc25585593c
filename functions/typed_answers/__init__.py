"""Answers that have to fit a JSON Schema: schemas are checked when they are given, answers with each fault and its place."""
