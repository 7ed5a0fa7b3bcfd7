"""Where the servers of a run are: on this machine, in containers, or elsewhere."""
