package io.sluice.connect.encode;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.sluice.connect.offset.Delivery;
import io.sluice.connect.offset.Origin;
import java.nio.ByteBuffer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.connect.header.Header;

/** The header of a replayed record that names the record it replays, as {@code topic-partition@offset}. */
record OriginHeader(String name) {
    /** Kafka's rule for the names of topics; numbers that fit. */
    private static final Pattern PLACE = Pattern.compile("([a-zA-Z0-9._-]{1,249})-(\\d{1,9})@(\\d{1,18})");

    /** The record that this one replays, or where it lies itself if it has no such header. */
    Origin of(Delivery delivery) throws MalformedRecordException {
        Header header = delivery.record().headers().lastWithName(name);
        if (header == null || header.value() == null) {
            return delivery.origin();
        }
        Matcher place = PLACE.matcher(textOf(header.value()));
        if (!place.matches()) {
            throw new MalformedRecordException(
                    "record header " + name + ": got no place of a record, expected topic-partition@offset");
        }
        return new Origin(place.group(1), Integer.parseInt(place.group(2)), Long.parseLong(place.group(3)));
    }

    private static String textOf(Object value) {
        if (value instanceof byte[] bytes) {
            return new String(bytes, UTF_8);
        }
        return value instanceof ByteBuffer buffer
                ? UTF_8.decode(buffer.duplicate()).toString()
                : value.toString();
    }
}
