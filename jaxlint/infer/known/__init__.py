"""What is known of values: the values themselves, variables in sight, annotations and what belies them.

`values` has the kinds of values; `UNKNOWN` is the usual one. Imports `bodies` and `transforms`.
"""
