"""What calls return and do: of constructors, methods, functions of the project, and those of libraries.

`calls` decides what is called and hands on to the others. Imports `evaluating`.
"""
