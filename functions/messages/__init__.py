"""Conversations in the forms of other libraries: OpenAI's chat completions, Anthropic's messages, pydantic-ai's history."""
