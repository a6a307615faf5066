"""How long a test waits for a process that should be done soon."""

#: In seconds. A machine that is busy is slow, and not wrong: this ends what would never end.
PATIENCE = 1200.0
