"""The commands that are about tutti itself; those about runs live with what they run."""
