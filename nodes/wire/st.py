"""PDUs of st."""
