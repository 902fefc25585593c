"""Skills, and the search for tools, skills, rules and entries."""
