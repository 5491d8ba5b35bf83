"""Runs as the agent of a guest: computes for ever, so that virtual time never moves."""

if __name__ == "__main__":
    while True:
        pass
