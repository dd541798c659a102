"""Celery's brokers, and messages to the workers."""
