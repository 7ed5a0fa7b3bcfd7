package io.sluice.connect.config;

import java.util.Locale;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** How a document is written, and what becomes of a record that cannot be. */
public final class WriteSettings {
    static final String WRITE_METHOD = "write.method";
    static final String ON_NULL_VALUES = "behavior.on.null.values";
    private static final String DELETED_FIELD = "deleted.field";
    private static final String ON_MALFORMED_DOCUMENTS = "behavior.on.malformed.documents";
    private static final String DROP_INVALID_MESSAGE = "drop.invalid.message";

    private final AbstractConfig values;

    WriteSettings(AbstractConfig values) {
        this.values = values;
    }

    static void define(ConfigDef definition) {
        SettingsGroup settings = new SettingsGroup(definition, "How records are written");
        settings.choice(WRITE_METHOD, "Write method", WriteMethod.class, "insert")
                .means("insert replaces the stored document unless that is newer. upsert merges fields into it, "
                        + "without versions; refused with key.ignore=true and data streams.");
        settings.choice(ON_NULL_VALUES, "Tombstones", OnNullValues.class, "fail")
                .means("Tombstones (records without a value): ignore drops and counts them, delete deletes the "
                        + "document of their key, fail fails the task. delete is refused with key.ignore=true, data "
                        + "streams, a date in index.name, or a JSON pointer in routing.");
        settings.text(DELETED_FIELD, "Field of rewritten deletes")
                .means("Top-level field of structs and maps, such as Debezium's __deleted: a keyed record with true or "
                        + "\"true\" there deletes like a tombstone. Needs behavior.on.null.values=delete. Blank: such a "
                        + "record is a document.");
        settings.choice(ON_MALFORMED_DOCUMENTS, "Bad documents", OnMalformedDocuments.class, "fail")
                .means("Bad documents: ignore sends them to the dead-letter queue, or drops and counts them "
                        + "without one; warn also logs a line without content; report is refused without "
                        + "errors.tolerance=all and errors.deadletterqueue.topic.name; fail fails the task.");
        settings.flag(DROP_INVALID_MESSAGE, "Drop invalid records")
                .means("Drop and count records that are no JSON object or have no usable key, whatever "
                        + "behavior.on.malformed.documents says. Every document is then parsed.");
    }

    static void check(Findings findings) {
        findings.requireEffect(DELETED_FIELD, findings.isText(ON_NULL_VALUES, "delete"), ON_NULL_VALUES + "=delete");
        checkReports(findings);
    }

    /** Without a queue the worker only logs what is reported, and its offset would be committed all the same. */
    private static void checkReports(Findings findings) {
        if (findings.isText(ON_MALFORMED_DOCUMENTS, "report") && !ErrantRecords.haveAQueue(findings.given())) {
            findings.refuse(
                    ON_MALFORMED_DOCUMENTS,
                    "got report without a dead-letter queue, expected errors.tolerance=all and"
                            + " errors.deadletterqueue.topic.name");
        }
    }

    public WriteMethod writeMethod() {
        return WriteMethod.valueOf(values.getString(WRITE_METHOD).toUpperCase(Locale.ROOT));
    }

    public OnNullValues onNullValues() {
        return OnNullValues.valueOf(values.getString(ON_NULL_VALUES).toUpperCase(Locale.ROOT));
    }

    /** The field that says of a row that it was deleted, or nothing. */
    public String deletedField() {
        return values.getString(DELETED_FIELD);
    }

    public OnMalformedDocuments onMalformedDocuments() {
        return OnMalformedDocuments.valueOf(
                values.getString(ON_MALFORMED_DOCUMENTS).toUpperCase(Locale.ROOT));
    }

    public boolean invalidDropped() {
        return values.getBoolean(DROP_INVALID_MESSAGE);
    }
}
