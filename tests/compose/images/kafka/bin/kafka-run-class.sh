#!/bin/bash
# Runs a class of Kafka's with what its users set in the environment, as Kafka's own script of this name does.
# Tests measure no rate: a quick start is worth more here than fast code.
set -euo pipefail
logging=-Dlog4j2.configurationFile=/opt/kafka/config/tools-log4j2.yaml
# Each variable holds several words.
# shellcheck disable=SC2086
exec "${JAVA_HOME:-/opt/java/openjdk}/bin/java" \
    ${KAFKA_HEAP_OPTS:--Xmx256M} \
    ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.awt.headless=true} \
    ${KAFKA_GC_LOG_OPTS:-} ${KAFKA_JMX_OPTS:-} ${KAFKA_LOG4J_OPTS:-$logging} \
    -cp "${CLASSPATH:+$CLASSPATH:}/opt/kafka/libs/*" ${KAFKA_OPTS:-} "$@"
