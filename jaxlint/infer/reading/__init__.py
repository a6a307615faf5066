"""From modules to events: reading the chosen units statement by statement.

`reader` is the way in, `flow` reads statements, `indexing` tells the index of a module. Imports all other rooms.
"""
