package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;

/** The header that gives a document's version. */
record VersionHeader(String name) {
    private static final String EXPECTED =
            ", expected a version from 0 to 9223372036854775807 as a number, as digits, or as 8 bytes (big-endian)";

    /** The digits of the largest version. */
    private static final int MOST_DIGITS = 19;

    /** The version in the record's header, never negative: Elasticsearch would refuse the whole bulk request. */
    long of(SinkRecord record, long withoutHeader) throws MalformedRecordException {
        Header header = record.headers().lastWithName(name);
        if (header == null || header.value() == null) {
            return withoutHeader;
        }
        Object value = header.value();
        if (value instanceof Number number) {
            return ofNumber(number);
        }
        if (value instanceof String text) {
            return ofDigits(text.strip(), text.length() + " characters");
        }
        byte[] bytes = Buffers.bytesOf(value);
        if (bytes != null) {
            return ofBytes(bytes);
        }
        throw refusal("a " + value.getClass().getSimpleName());
    }

    private long ofNumber(Number number) throws MalformedRecordException {
        try {
            boolean isLong = number instanceof Long || number instanceof Integer;
            return notNegative(
                    isLong ? number.longValue() : new BigDecimal(number.toString()).longValueExact(), "a number");
        } catch (ArithmeticException | NumberFormatException notWhole) {
            throw refusal("a number that is not whole or too large");
        }
    }

    /** Eight bytes are text only if all of them are digits: 48, the character 0, is a version like any other. */
    private long ofBytes(byte[] bytes) throws MalformedRecordException {
        String text = new String(bytes, ISO_8859_1);
        return bytes.length == Long.BYTES && !isDigits(text)
                ? notNegative(ByteBuffer.wrap(bytes).getLong(), "8 bytes")
                : ofDigits(text, bytes.length + " bytes");
    }

    private long ofDigits(String text, String got) throws MalformedRecordException {
        if (!isDigits(text) || text.length() > MOST_DIGITS) {
            throw refusal(got);
        }
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException tooLarge) {
            throw refusal(got);
        }
    }

    private static boolean isDigits(String text) {
        return !text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9');
    }

    private long notNegative(long version, String what) throws MalformedRecordException {
        if (version < 0) {
            throw refusal(what + " below 0");
        }
        return version;
    }

    private MalformedRecordException refusal(String got) {
        return new MalformedRecordException("record header " + name + ": got " + got + EXPECTED);
    }
}
