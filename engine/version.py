"""The version of the installed package."""


def version_line() -> str:
    """What `engine --version` prints."""
    from importlib.metadata import version  # slow to import

    return f"engine {version('engine')}"
