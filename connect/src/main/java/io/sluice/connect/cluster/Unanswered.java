package io.sluice.connect.cluster;

/** No node answered, and in a few words why. */
final class Unanswered extends Exception {
    private static final long serialVersionUID = 1L;

    Unanswered(String why) {
        super(why);
    }

    Unanswered(String why, Throwable cause) {
        super(why, cause);
    }
}
