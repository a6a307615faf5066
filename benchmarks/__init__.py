"""What jaxlint costs, measured: `python -m benchmarks`."""
