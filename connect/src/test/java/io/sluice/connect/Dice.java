package io.sluice.connect;

import java.util.Random;

/** All that is left to chance in a history, the same each time for one seed. */
final class Dice extends Random {
    private static final long serialVersionUID = 1;

    Dice(long seed) {
        super(seed);
    }

    boolean chance(double probability) {
        return nextDouble() < probability;
    }

    /** Another one, for another thread. */
    Dice fork() {
        return new Dice(nextLong());
    }

    @SafeVarargs
    final <T> T oneOf(T... choices) {
        return choices[nextInt(choices.length)];
    }
}
