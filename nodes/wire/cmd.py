"""PDUs of cmd."""
