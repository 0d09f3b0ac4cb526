"""A study in a TOML file: read, checked, explained line by line."""
