"""Status of a running server: probes, the flow of work, metrics."""
