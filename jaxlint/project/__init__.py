"""Project: which file an import means, and what a dotted name stands for. Unknown is an answer.

`files` finds what is to be checked, `modules` knows who is who, `resolution` follows names through aliases, re-exports
and stars, `index` holds what is asked of the project as a whole. Imports `symbols` and what is below.
"""
