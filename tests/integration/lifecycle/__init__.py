"""Servers and long commands from their start to their end: interrupted, killed, resumed, guarded."""
