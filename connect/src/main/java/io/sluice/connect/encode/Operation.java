package io.sluice.connect.encode;

import io.sluice.connect.offset.Delivery;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** One operation of a bulk request: its action line, its source line if it has one, and the record it came from. */
public final class Operation {
    /** What the operation asks of Elasticsearch. */
    public enum Kind {
        INDEX("index"),
        CREATE("create"),
        UPDATE("update"),
        DELETE("delete");

        private final String action;

        Kind(String action) {
            this.action = action;
        }

        /** Whether Elasticsearch has this name for it. */
        public boolean isCalled(String name) {
            return action.equals(name);
        }
    }

    private final Kind kind;
    private final String index;
    private final byte[] id;
    private final byte[] routing;
    private final byte[] action;
    private final byte[] source;
    private final long version;
    private final Delivery delivery;
    private final int idHash;
    private final int bodyBytes;
    private int countedAttempts;
    private boolean failed;
    private long failedAtNanos;

    /** @param source the document, or {@code null} for a delete; neither array ends in a line feed */
    Operation(
            Kind kind,
            String index,
            byte[] id,
            byte[] routing,
            byte[] action,
            byte[] source,
            long version,
            Delivery delivery) {
        this.kind = kind;
        this.index = index;
        this.id = id;
        this.routing = routing;
        this.action = action;
        this.source = source;
        this.version = version;
        this.delivery = delivery;
        // Noted while the arrays are at hand: by the time they are asked for, the arrays have left the caches.
        this.idHash = Arrays.hashCode(id);
        this.bodyBytes = action.length + 1 + (source == null ? 0 : source.length + 1);
    }

    public Kind kind() {
        return kind;
    }

    public String index() {
        return index;
    }

    public Delivery delivery() {
        return delivery;
    }

    /** The external version: the record's offset, or what a header of it says. */
    public long version() {
        return version;
    }

    /** Whether the document has an id before Elasticsearch gives it one. */
    public boolean hasId() {
        return id.length > 0;
    }

    /** The document's id as it stands between the quotes of a JSON string; empty where Elasticsearch makes it. */
    public byte[] id() {
        return id;
    }

    /** The document's routing as it stands between quotes; empty where its id is what places it. */
    public byte[] routing() {
        return routing;
    }

    /** Whether it tells the document's shard; otherwise that is the cluster's choice. */
    public boolean isPlaced() {
        return routing.length > 0 || hasId();
    }

    /** Whether this text is the document's id. */
    public boolean hasId(char[] text, int from, int length) {
        for (int i = 0; i < id.length; i++) {
            if (id[i] < 0 || id[i] == '\\') {
                return DocumentIds.unquoted(id).equals(new String(text, from, length));
            }
            if (i >= length || id[i] != text[from + i]) {
                return false;
            }
        }
        return length == id.length;
    }

    /** The document's id itself. */
    public String idText() {
        return DocumentIds.unquoted(id);
    }

    /** The document's id as a key for maps. */
    public Object idKey() {
        return ByteBuffer.wrap(id);
    }

    /** A hash of the document's id; the same for all documents that Elasticsearch names. */
    public int idHash() {
        return idHash;
    }

    /** The lines of the operation, in order; a line feed follows each. */
    public byte[] line(int number) {
        return number == 0 ? action : source;
    }

    public int lines() {
        return source == null ? 1 : 2;
    }

    /** Bytes in the body of a bulk request, line feeds included. */
    public int bodyBytes() {
        return bodyBytes;
    }

    /** Bytes of the heap held for the operation and its record: what the document was made of counts beside it. */
    public long heldBytes() {
        Object value = delivery.record().value();
        long valueBytes = source == value ? 0 : HeapBytes.of(value);
        return bodyBytes + (long) id.length + routing.length + valueBytes;
    }

    /** Counts one more failure of the kind that waiting alone does not cure; returns how many there were. */
    public int countAttempt(long nowNanos) {
        noteFailure(nowNanos);
        return ++countedAttempts;
    }

    /** Notes a failure that may be another document's, which counts as no attempt. */
    public void noteFailure(long nowNanos) {
        failedAtNanos = failed ? failedAtNanos : nowNanos;
        failed = true;
    }

    /** Forgets the failures: something else was at fault. */
    public void forgetAttempts() {
        countedAttempts = 0;
        failed = false;
    }

    /** When the first of the failures was noted. */
    public long failedAtNanos() {
        return failedAtNanos;
    }
}
