"""Delivery of webhooks: signed requests, retries with a backoff, and results."""
