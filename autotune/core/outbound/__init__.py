"""Outbound calls: one guarded engine, and the addresses that it may call."""
