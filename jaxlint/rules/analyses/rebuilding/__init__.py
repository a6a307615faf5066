"""What happens when JAX takes instances apart and makes them again: flattening, unflattening, constructors.

`construction` is what a constructor does that runs again, `twice` runs one twice. Imports `under_trace`.
"""
