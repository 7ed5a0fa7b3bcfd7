package io.sluice.connect.stored;

/** How a stored document compares with the one that was sent. */
public enum Likeness {
    /** The same JSON. */
    EQUAL,
    /** The sent one without some of its members: what {@code _source} does not hold cannot be compared. */
    PART,
    /** The sent one with more members. */
    EXTENDED,
    DIFFERENT,
    /** One of them is missing or no JSON that can be compared. */
    UNREADABLE
}
