"""What is done with the indices of a run once they are loaded: they are deployed to the nodes that answer queries."""
