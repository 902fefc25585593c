"""A chat with a run at the terminal: what is typed, what is drawn, and what each key does."""
