package io.sluice.connect.config;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where the records of one topic go: a name, with dates in it or not. Not safe for several threads. */
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

    private Target(boolean dataStream) {
        this.dataStream = dataStream;
    }

    /** A target that exists under this very name; aliases may be in upper case. */
    static Target named(String name, boolean dataStream) {
        Target target = new Target(dataStream);
        target.texts.add(name);
        return target;
    }

    /**
     * A target whose name is put into lower case, as Elasticsearch wants it of what it creates.
     *
     * @param pattern in which {@code {yyyy.MM.dd}} stands for the record's timestamp in UTC; no part is finer than an hour
     */
    static Target ofPattern(String pattern, boolean dataStream) {
        Target target = new Target(dataStream);
        Matcher found = DATE.matcher(pattern);
        int from = 0;
        while (found.find()) {
            target.texts.add(pattern.substring(from, found.start()).toLowerCase(Locale.ROOT));
            target.dates.add(
                    DateTimeFormatter.ofPattern(found.group(1), Locale.ROOT).withZone(ZoneOffset.UTC));
            from = found.end();
        }
        target.texts.add(pattern.substring(from).toLowerCase(Locale.ROOT));
        return target;
    }

    static boolean holdsDate(String pattern) {
        return DATE.matcher(pattern).find();
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

    /** The name for a record of that time; without dates in it the time may be {@code null}. */
    public String nameAt(Long timestampMs) {
        long wanted = isDated() ? Math.floorDiv(timestampMs, HOUR_MS) : 0;
        if (wanted != hour) {
            nameOfHour = name(Instant.ofEpochMilli(wanted * HOUR_MS));
            hour = wanted;
        }
        return nameOfHour;
    }

    /** The name with {@code *} for each date in it. */
    public String pattern() {
        return String.join("*", texts);
    }

    private String name(Instant time) {
        StringBuilder name = new StringBuilder(texts.get(0));
        for (int i = 0; i < dates.size(); i++) {
            name.append(dates.get(i).format(time).toLowerCase(Locale.ROOT)).append(texts.get(i + 1));
        }
        return name.toString();
    }
}
