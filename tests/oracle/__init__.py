"""The oracle: fixtures become ordinary programs, and programs show what they do against the real libraries."""
