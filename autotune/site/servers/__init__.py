"""The server processes `web`, `live` and `beat`."""
