"""The search for tools, skills, rules and entries, by words and by meaning."""
