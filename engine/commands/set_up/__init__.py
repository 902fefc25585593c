"""The commands of the group Set up: init, config, models, keys, doctor."""
