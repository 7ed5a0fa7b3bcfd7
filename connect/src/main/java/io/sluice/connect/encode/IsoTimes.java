package io.sluice.connect.encode;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.Locale;

/** Dates and times as Elasticsearch's {@code date} fields read them without a format of their own. */
final class IsoTimes {
    private static final long NANOS_PER_SECOND = 1_000_000_000;
    private static final DateTimeFormatter[] INSTANTS = new DateTimeFormatter[10];

    static {
        for (int digits = 3; digits <= 9; digits += 3) {
            INSTANTS[digits] =
                    new DateTimeFormatterBuilder().appendInstant(digits).toFormatter(Locale.ROOT);
        }
    }

    private IsoTimes() {}

    /** {@code 2026-11-26}. */
    static String date(long epochDays) {
        return LocalDate.ofEpochDay(epochDays).toString();
    }

    /** {@code 2026-11-26T13:18:19.000Z}, with the digits of a unit of which a second has so many. */
    static String instant(long units, long perSecond) {
        Instant instant = Instant.ofEpochSecond(
                Math.floorDiv(units, perSecond), Math.floorMod(units, perSecond) * (NANOS_PER_SECOND / perSecond));
        return INSTANTS[digits(perSecond)].format(instant.atOffset(ZoneOffset.UTC));
    }

    /** {@code 13:18:19.000}; MySQL's times may be below zero or beyond a day, and stay so. */
    static String time(long units, long perSecond) {
        long size = Math.abs(units);
        long seconds = size / perSecond;
        return String.format(
                Locale.ROOT,
                "%s%02d:%02d:%02d.%0" + digits(perSecond) + "d",
                units < 0 ? "-" : "",
                seconds / 3_600,
                seconds / 60 % 60,
                seconds % 60,
                size % perSecond);
    }

    private static int digits(long perSecond) {
        return perSecond == 1_000 ? 3 : perSecond == 1_000_000 ? 6 : 9;
    }
}
