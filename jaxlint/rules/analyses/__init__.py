"""Analyses: what two or three rules ask of code, such as which assignments a frozen instance refuses.

An analysis that one rule needs lives with that rule. Imports `infer` and what is below.
"""
