"""Hosted graders: Autotune judges itself, in child processes. This package imports nothing here: children import it."""
