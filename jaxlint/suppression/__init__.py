"""suppression."""
