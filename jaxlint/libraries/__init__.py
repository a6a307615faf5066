"""Libraries: what is known of jax, numpy and their kin by name, as declarations, one file each.

`transforms` says what each transformation does to a function, `arrays` what makes arrays. Whoever needs a fact about a
function of a library looks it up here. Imports `syntax` only.
"""
