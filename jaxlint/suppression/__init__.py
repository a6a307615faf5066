"""Suppression: the comments and baselines that hide findings.

`comments` reads `# noqa` and `# jaxlint: ignore[...]`, `add_noqa` and `removal` write and remove them, `baseline` keeps
what was there before, by `fingerprint`. Imports `syntax` and `cache`.
"""
