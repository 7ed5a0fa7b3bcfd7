"""Files as people have them, as a stream of documents: what a file holds is seen by its content, never by its name."""
