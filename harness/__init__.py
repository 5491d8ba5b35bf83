"""What runs, judges and tabulates protocols on emulated networks."""

VERSION = "0.2.0"  # of tutti: `tutti --version`, every manifest and report
