#!/bin/bash
# Runs a class of Kafka's with what its users set in the environment, as Kafka's own script of this name does.
set -euo pipefail
logging=-Dlog4j2.configurationFile=/opt/kafka/config/tools-log4j2.yaml
# Each variable holds several words.
# shellcheck disable=SC2086
exec "${JAVA_HOME:-/opt/java/openjdk}/bin/java" \
    ${KAFKA_HEAP_OPTS:--Xmx256M} \
    ${KAFKA_JVM_PERFORMANCE_OPTS:--server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true} \
    ${KAFKA_GC_LOG_OPTS:-} ${KAFKA_JMX_OPTS:-} ${KAFKA_LOG4J_OPTS:-$logging} \
    -cp "${CLASSPATH:+$CLASSPATH:}/opt/kafka/libs/*" ${KAFKA_OPTS:-} "$@"
