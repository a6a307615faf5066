"""Cst: code as libcst trees, read where something was found and rewritten where it is fixed.

`reading` and `shapes` are for the rules that read nodes, `anchors` puts a finding on its node. `changes` are the words
in which a rule says what it would change, `writing` makes edits of them with the functions in `rewriting`, `calling`,
`declaring` and kin. Imports `infer` and what is below; `libcst` itself is imported when something was found.
"""
