"""Encryption at rest: fields, data keys and master keys, their rotation, and damaged values."""
