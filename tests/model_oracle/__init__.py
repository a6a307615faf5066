"""Generated class declarations, registered for real, against what the class model says of their text."""
