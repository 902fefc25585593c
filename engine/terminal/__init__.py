"""What the commands share at the terminal: lines and tables, questions, progress, the driver of a run."""
