"""Analyses: what two or three rules ask of code, such as which assignments a frozen instance refuses.

Each room is a kind of question; a room imports those below it: `fixes`, `changes`, `rebuilding`, `fields`,
`under_trace`, `instances`, `bodies`. An analysis that one rule needs lives in that rule's file; it has one here where
that file would become too long to be read in one go (500 lines is the most that a file has). Imports `infer` and below.
"""
