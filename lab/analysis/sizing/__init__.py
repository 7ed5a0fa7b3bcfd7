"""From recorded runs to the machines that a rate needs."""
