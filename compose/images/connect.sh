#!/usr/bin/env bash
# Starts a Connect worker with the settings of its environment: CONNECT_GROUP_ID is group.id, and so on.
set -eu
umask 077
settings=/tmp/worker.properties
while IFS='=' read -r -d '' name value; do
    case $name in
        CONNECT_*)
            key=${name#CONNECT_}
            key=${key,,}
            printf '%s=%s\n' "${key//_/.}" "$value"
            ;;
    esac
done < <(env -0) >"$settings"

agent=/tmp/jolokia.properties
{
    cat /opt/sluice/jolokia.properties
    echo policyLocation=file:///opt/sluice/jolokia-access.xml
    echo host=0.0.0.0
    echo port=8778
} >"$agent"
if [ -n "${SECRETS:-}" ]; then
    # The worker itself, and its producers, consumers and admin clients each by a prefix, enter Kafka with the same.
    for prefix in "" producer. consumer. admin.; do
        sed "s/^/$prefix/" "$SECRETS/kafka-client.properties" >>"$settings"
    done
    cat "$SECRETS/connect-rest.properties" >>"$settings"
    # A key store in Java's own format, which the sink takes; made anew at each start.
    rm -f /tmp/trust.p12
    keytool -importcert -noprompt -alias sluice -file "$SECRETS/ca.pem" -keystore /tmp/trust.p12 -storetype PKCS12 \
        -storepass:file <(sed -n 's/^trust.password=//p' "$SECRETS/sink.properties") 2>/dev/null
    # TLS and a password.
    cat "$SECRETS/jolokia.properties" >>"$agent"
    KAFKA_OPTS="${KAFKA_OPTS:-} -Djava.security.auth.login.config=$SECRETS/connect.jaas"
fi
export KAFKA_OPTS="${KAFKA_OPTS:-} -javaagent:/opt/sluice/jolokia.jar=config=$agent"
exec /opt/kafka/bin/connect-distributed.sh "$settings"
