"""Effects: what the world must see."""
