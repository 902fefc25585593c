"""The quirks of real providers' streams, for both wire formats; `tests/engine/test_models_streams.py` plays them."""

from servers.chat_quirks import CHAT_QUIRKS
from servers.chat_texts import CHAT_TEXTS
from servers.messages_quirks import MESSAGES_QUIRKS

QUIRKS = (*CHAT_QUIRKS, *CHAT_TEXTS, *MESSAGES_QUIRKS)
