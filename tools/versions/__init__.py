"""What the frameworks do in other versions: `python -m tools.versions lock` makes the locks of `tests/oracle/locks`."""
