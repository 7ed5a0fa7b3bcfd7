package io.sluice.connect.cluster;

/** The answer says to ask elsewhere, where our credentials must not go. */
final class Redirected extends Exception {
    private static final long serialVersionUID = 1L;

    private final int status;

    Redirected(int status) {
        super("status " + status);
        this.status = status;
    }

    int status() {
        return status;
    }
}
