"""What becomes of a change: of an updated copy that nobody keeps, and of a change in place under a transformation.

`updates` says what an update does, `mutations` what a body changes in place. Imports `fields`, `instances`.
"""
