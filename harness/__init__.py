"""What runs, judges and tabulates protocols on emulated networks."""
