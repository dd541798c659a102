"""Status of a running server: probes, the progress of due work, and metrics."""
