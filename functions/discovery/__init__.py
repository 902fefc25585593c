"""What the search for tools, skills, rules and entries needs of texts."""
