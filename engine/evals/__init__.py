"""Gives cases to models, checks what they answer, and keeps the results as rows of an engine file.

spec: @evals
"""
