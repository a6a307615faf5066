"""Which functions are transformed, by what and with which options, as far as outlines tell.

`applied` is one transformation with its options, `transformed` finds them all. Imports no other room.
"""
