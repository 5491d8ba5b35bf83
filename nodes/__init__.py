"""The protocols: pure machines, the wire table they speak, and the process that runs one of them on a network."""
