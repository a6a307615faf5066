"""Config: `[tool.jaxlint]`, jaxlint.toml and options become `Settings`; every mistake is one line that names its place.

`table` holds all keys, `layers` read and check what one place says, `configuration` merges them for each path, and
`settings` is what all others see. Imports `rules` (which rules there are) and what is below.
"""
