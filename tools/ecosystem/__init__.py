"""The wild: jaxlint on code that nobody here wrote, against findings that were judged by reading."""
