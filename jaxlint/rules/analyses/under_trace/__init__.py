"""What a function is and does while JAX traces it: which leaves are tracers, which forms trees have.

`traced` and `traced_leaves` say what is traced; `tracing` runs a function on `forms`. Imports `instances`.
"""
