"""A stream without end through servers that stay."""
