"""PDUs of him."""
