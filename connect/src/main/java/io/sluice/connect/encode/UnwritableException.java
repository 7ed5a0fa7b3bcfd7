package io.sluice.connect.encode;

/** A value that JSON has no form for; the message says what was got and expected, without the value itself. */
final class UnwritableException extends Exception {
    private static final long serialVersionUID = 1L;

    UnwritableException(String message) {
        super(message, null, false, false);
    }

    static UnwritableException of(Object value, String expected) {
        return new UnwritableException("got " + typeOf(value) + ", expected " + expected);
    }

    /** The value's type with its article; Java's own types are known by their short names. */
    static String typeOf(Object value) {
        Class<?> type = value.getClass();
        boolean isKnown = type.getName().matches("java\\.(lang|math|util)\\.\\w+|org\\.apache\\.kafka\\.connect\\..*");
        String name = isKnown || type.isArray() ? type.getSimpleName() : type.getName();
        return (name.matches("[AEIOaeio].*") ? "an " : "a ") + name;
    }
}
