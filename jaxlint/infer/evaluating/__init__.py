"""From expressions to values, and the events on the way, which are what rules look at.

`evaluate` is the way in, `events` what comes out, `notes` what is noted meanwhile. Imports `known`.
"""
