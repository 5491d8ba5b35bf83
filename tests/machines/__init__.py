"""Protocol machines in memory: their rules one by one, their traces, thousands of random schedules."""
