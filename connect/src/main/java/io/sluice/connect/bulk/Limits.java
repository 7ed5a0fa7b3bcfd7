package io.sluice.connect.bulk;

/** How much may be sent: requests under way at once, and the most that one request holds. */
record Limits(int inFlight, int documents, long bytes) {}
