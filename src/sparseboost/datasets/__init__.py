"""Readers for tables on disk."""

from sparseboost.datasets.readers import is_svmlight, read_svmlight, read_table

__all__ = ["is_svmlight", "read_svmlight", "read_table"]
