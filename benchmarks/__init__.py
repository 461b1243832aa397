"""Benchmarks of sparseboost beside its peers: ratios measured in one run. See README.md."""
