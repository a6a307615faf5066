"""What the statements of a body hold, bind and change, before anything is known of the values.

Slots are variables and what is reached from them; `usage` follows what becomes of them.
"""
