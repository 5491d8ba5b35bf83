"""PDUs of TO with dynamic clusters (paper 001)."""
