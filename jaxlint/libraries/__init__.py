"""Libraries: what is known of jax, numpy and their kin by name, as declarations, one file each.

`transforms` says what each transformation does to a function, `arrays` what makes arrays. Imports `syntax` only; whoever
needs a fact about a library's function looks it up here.
"""
