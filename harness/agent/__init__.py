"""The agent: one process that builds the network, forks the nodes, drives the timeline and collects, in whatever
kernel it was started (the private one, or the machine's own). It alone knows true time."""
