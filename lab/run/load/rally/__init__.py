"""A load that Rally's bulk task sends."""
