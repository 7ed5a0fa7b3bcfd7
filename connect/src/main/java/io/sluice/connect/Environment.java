package io.sluice.connect;

import io.sluice.connect.bulk.BulkClient;
import io.sluice.connect.bulk.RestBulkClient;
import io.sluice.connect.config.SinkConfig;
import io.sluice.connect.time.TaskTimers;
import io.sluice.connect.time.Timers;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;

/** What a task takes from the machine it runs on; tests simulate one, so that a run of theirs can be repeated. */
interface Environment {
    Environment REAL = new Environment() {
        @Override
        public Timers timers(String threadName, Consumer<Throwable> onFailure) {
            return new TaskTimers(threadName, onFailure);
        }

        @Override
        public BulkClient client(SinkConfig config) {
            return new RestBulkClient(config);
        }

        @Override
        public double random() {
            return ThreadLocalRandom.current().nextDouble();
        }
    };

    /** Time, with a thread of its own for the calls that come later; what such a call throws, {@code onFailure} hears. */
    Timers timers(String threadName, Consumer<Throwable> onFailure);

    /** Connections to the cluster. */
    BulkClient client(SinkConfig config);

    /** At least 0 and less than 1. */
    double random();
}
