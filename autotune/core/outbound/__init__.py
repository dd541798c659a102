"""Outbound calls: one engine that checks every address, and the addresses that it may call."""
