package io.sluice.connect.encode;

/** Operations that no record was read for. */
public final class Operations {
    private static final byte[] NOTHING = {};

    private Operations() {}

    public static Operation of(Operation.Kind kind, long version) {
        return new Operation(kind, "b", NOTHING, NOTHING, NOTHING, null, version, null);
    }
}
