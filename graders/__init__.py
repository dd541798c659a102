"""Graders: who they are, how they are called, and what they have said."""
