"""Pages of the web and searches: what may be reached, how it is fetched, and how it becomes text."""
