"""The inspector: the runs of databases in the browser, or as static pages.

spec: @inspector
"""
