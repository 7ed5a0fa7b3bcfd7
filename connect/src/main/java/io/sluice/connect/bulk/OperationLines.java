package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import java.nio.ByteBuffer;
import java.util.List;

/** A place in the lines of operations, from which bytes are gathered and passed over. */
final class OperationLines {
    private final List<Operation> operations;
    private int operation;
    private int line;
    private int written;

    OperationLines(List<Operation> operations) {
        this.operations = operations;
    }

    boolean isAtEnd() {
        return operation == operations.size();
    }

    /** Fills the buffer with what comes next, without moving on. */
    void gather(ByteBuffer buffer) {
        int fromLine = line;
        int from = written;
        for (int i = operation; i < operations.size(); i++) {
            Operation next = operations.get(i);
            for (int l = fromLine; l < next.lines(); l++) {
                byte[] bytes = next.line(l);
                int count = Math.min(bytes.length - from, buffer.remaining());
                buffer.put(bytes, from, count);
                if (!buffer.hasRemaining()) {
                    return;
                }
                buffer.put((byte) '\n');
                from = 0;
            }
            fromLine = 0;
        }
    }

    void advance(int count) {
        int left = count;
        while (left > 0) {
            Operation current = operations.get(operation);
            int rest = current.line(line).length + 1 - written;
            if (left < rest) {
                written += left;
                return;
            }
            left -= rest;
            written = 0;
            if (++line == current.lines()) {
                line = 0;
                operation++;
            }
        }
    }
}
