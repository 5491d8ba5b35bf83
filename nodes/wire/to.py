"""PDUs of to."""
