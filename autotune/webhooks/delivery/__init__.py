"""Deliver events to webhooks: signed requests, retries with a backoff, and results."""
