"""SQL files of the engine: tables, views and triggers, one file per concept."""
