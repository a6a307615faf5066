"""rules.analyses."""
