"""Reports in headless Chromium."""
