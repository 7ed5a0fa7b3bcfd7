package io.sluice.connect.bulk;

import io.sluice.connect.encode.Operation;
import io.sluice.connect.metrics.Fate;
import io.sluice.connect.offset.Delivery;
import java.util.ArrayList;
import java.util.List;

/** The operations of an answered request by what is done next about them. */
final class ItemSteps {
    private static final int NONE = -1;

    private final List<Delivery> completed;
    private final List<Operation> ended;
    private final List<Operation> remaining = new ArrayList<>(0);
    private final List<Integer> rejected = new ArrayList<>(0);
    private final List<Integer> suspected = new ArrayList<>(0);
    private int firstRemaining = NONE;
    private int firstUnserved = NONE;
    private int redirected;
    private int droppedByPipeline;

    ItemSteps(List<Operation> operations, BulkAnswer answer, RetryPolicy policy, long nowNanos) {
        completed = new ArrayList<>(operations.size());
        ended = new ArrayList<>(operations.size());
        for (int item = 0; item < operations.size(); item++) {
            add(operations.get(item), item, policy.ofItem(operations.get(item), answer, item, nowNanos));
        }
    }

    private void add(Operation operation, int item, Step step) {
        switch (step) {
            case COMPLETE -> complete(operation);
            case REJECT -> rejected.add(item);
            case SUSPECT -> suspected.add(item);
            case PARK -> firstUnserved = firstUnserved == NONE ? item : firstUnserved;
            default -> {}
        }
        if (step == Step.REPEAT || step == Step.PARK) {
            firstRemaining = firstRemaining == NONE ? item : firstRemaining;
            remaining.add(operation);
        } else {
            ended.add(operation);
        }
    }

    private void complete(Operation operation) {
        Fate fate = operation.delivery().fate();
        redirected += fate == Fate.REDIRECTED ? 1 : 0;
        droppedByPipeline += fate == Fate.DROPPED_BY_PIPELINE ? 1 : 0;
        completed.add(operation.delivery());
    }

    /** Those that got through. */
    List<Delivery> completed() {
        return completed;
    }

    /** Those that need nothing more: completed, rejected or suspected. */
    List<Operation> ended() {
        return ended;
    }

    /** Those that are sent again. */
    List<Operation> remaining() {
        return remaining;
    }

    /** Numbers of the items whose document will never be accepted. */
    List<Integer> rejected() {
        return rejected;
    }

    /** Numbers of the items whose document is the likely cause of their failures. */
    List<Integer> suspected() {
        return suspected;
    }

    /** The first item that is sent again, -1 for none. */
    int firstRemaining() {
        return firstRemaining;
    }

    /** The first item whose target cannot be served, -1 for none. */
    int firstUnserved() {
        return firstUnserved;
    }

    /** How many documents went to a failure store. */
    int redirected() {
        return redirected;
    }

    /** How many documents an ingest pipeline dropped. */
    int droppedByPipeline() {
        return droppedByPipeline;
    }
}
