"""libraries."""
