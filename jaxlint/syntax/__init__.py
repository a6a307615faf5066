"""Syntax: bytes become text, and text becomes the small languages of expressions and statements.

`source` decodes a file once, `grammar` rewrites what the running Python cannot parse, `from_ast` turns nodes of `ast`
into `expressions` and `statements`. Imports nothing of jaxlint but errors and findings; all other rooms import it.
"""
