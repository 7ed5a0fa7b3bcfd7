"""The mapping that a file's documents want: what they show, the types that follow, the check on a server, the costs."""
