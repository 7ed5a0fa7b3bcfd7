package io.sluice.connect.config;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where the records of one topic go: a name, with dates in it or not. Not safe for several threads.
 *
 * <p>{@code {yyyy.MM.dd}} stands for the record's timestamp in UTC; no part is finer than an hour.
 */
public final class Target {
    /** Letters that stand for an hour or more, and what may separate them. */
    private static final Pattern DATE = Pattern.compile("(?<!\\$)\\{([^{}]*)}");

    private static final Pattern HOURS_OR_MORE = Pattern.compile("[uyQMwDdH._-]+");
    private static final long HOUR_MS = 3_600_000;

    private final boolean dataStream;
    private final List<String> texts = new ArrayList<>();
    private final List<DateTimeFormatter> dates = new ArrayList<>();
    private long hour = Long.MIN_VALUE;
    private String nameOfHour = "";

    /** @param name may hold dates */
    Target(String name, boolean dataStream) {
        this.dataStream = dataStream;
        Matcher found = DATE.matcher(name);
        int from = 0;
        while (found.find()) {
            texts.add(name.substring(from, found.start()));
            dates.add(DateTimeFormatter.ofPattern(found.group(1), Locale.ROOT).withZone(ZoneOffset.UTC));
            from = found.end();
        }
        texts.add(name.substring(from));
    }

    /** What is wrong with the dates in a name, or {@code null}. */
    static String offence(String name) {
        Matcher found = DATE.matcher(name);
        while (found.find()) {
            String pattern = found.group(1);
            try {
                DateTimeFormatter.ofPattern(pattern, Locale.ROOT)
                        .withZone(ZoneOffset.UTC)
                        .format(Instant.EPOCH);
            } catch (IllegalArgumentException | java.time.DateTimeException malformed) {
                return "{" + pattern + "}";
            }
            if (!HOURS_OR_MORE.matcher(pattern).matches()) {
                return "{" + pattern + "}";
            }
        }
        return null;
    }

    /** Whether documents can only be created there. */
    public boolean isDataStream() {
        return dataStream;
    }

    /** Whether a record needs a timestamp to find its index. */
    public boolean isDated() {
        return !dates.isEmpty();
    }

    /** The name for a record of that time; without dates in it the time may be {@code null}. Lower case, as Elasticsearch wants. */
    public String nameAt(Long timestampMs) {
        long wanted = isDated() ? Math.floorDiv(timestampMs, HOUR_MS) : 0;
        if (wanted != hour) {
            nameOfHour = name(Instant.ofEpochMilli(wanted * HOUR_MS));
            hour = wanted;
        }
        return nameOfHour;
    }

    /** The name in lower case with {@code *} for each date in it. */
    public String pattern() {
        return String.join("*", texts).toLowerCase(Locale.ROOT);
    }

    private String name(Instant time) {
        StringBuilder name = new StringBuilder(texts.get(0));
        for (int i = 0; i < dates.size(); i++) {
            name.append(dates.get(i).format(time)).append(texts.get(i + 1));
        }
        return name.toString().toLowerCase(Locale.ROOT);
    }
}
