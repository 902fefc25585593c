"""Many tasks, each with an engine file of its own: workers that carry them out, and the manifest that says who has which."""
