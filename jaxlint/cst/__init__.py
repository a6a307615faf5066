"""Code as libcst trees: read where something was found, rewritten where it is fixed."""
