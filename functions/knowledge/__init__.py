"""What rules, skills, relations and discovery need of texts."""
