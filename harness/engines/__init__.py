"""Where a run happens: `virtual` is the private kernel in virtual time, `live` is the machine's own."""
