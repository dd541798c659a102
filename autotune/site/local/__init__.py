"""Run the server on one machine for the demo, the examples, the tests and the benchmarks."""
