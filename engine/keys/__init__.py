"""Keys of providers and services, and where they come from."""
