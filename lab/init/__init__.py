"""A first profile, mapping and suite for a file of one's own, proposed from a sample of its documents."""
