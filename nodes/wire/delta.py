"""PDUs of delta."""
