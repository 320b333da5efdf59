"""Read csv, tsv, jsonl, json, parquet, xlsx and txt into a table of strings; every skipped row is reported."""

from sbert_app.tables.reading import FORMATS, read_table, table_from_lines
from sbert_app.tables.table import SPREADSHEET, Form, Skip, Table, csv_file, skipped_summary

__all__ = ["FORMATS", "SPREADSHEET", "Form", "Skip", "Table", "csv_file", "read_table", "skipped_summary", "table_from_lines"]
