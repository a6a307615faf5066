"""What is seen to go into the fields of a class: functions, unhashable values, numbers that each step moves.

What annotations only hope is contradicted here by what code does. Imports `instances`.
"""
