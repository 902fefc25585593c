"""The providers of models named `provider/name`: their addresses, and the variables that configure them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Provider:
    """A provider: the variables that may hold its key, the variable of its address, and its default address."""

    name: str
    keys: tuple[str, ...]
    url_variable: str
    url: str
    needs_key: bool = True


PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("openai", ("OPENAI_API_KEY",), "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        Provider("anthropic", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        Provider("openrouter", ("OPENROUTER_API_KEY",), "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"),
        Provider("ollama", ("OLLAMA_API_KEY",), "OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1", needs_key=False),
        Provider("xai", ("XAI_API_KEY",), "XAI_BASE_URL", "https://api.x.ai/v1"),
        Provider("cerebras", ("CEREBRAS_API_KEY",), "CEREBRAS_BASE_URL", "https://api.cerebras.ai/v1"),
        Provider(
            "google",
            ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            "GOOGLE_BASE_URL",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
    )
}
