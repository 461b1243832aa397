"""Readers for tables on disk, and a writer for predictions."""

from sparseboost.datasets.readers import is_svmlight, read_svmlight, read_table
from sparseboost.datasets.writers import check_writable, write_columns

__all__ = ["check_writable", "is_svmlight", "read_svmlight", "read_table", "write_columns"]
