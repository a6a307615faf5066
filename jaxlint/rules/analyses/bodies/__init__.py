"""What statements do to variables, whatever the classes of the values are.

Loops, branches, what is read after a place, and expressions that stand for one value that is written down.
"""
