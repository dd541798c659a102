"""Callbacks: the answers of graders that accept a call first and answer later."""
