#!/usr/bin/env bash
# Makes a certificate authority, one certificate for all servers, and passwords, unless they are there already. What is
# written of them for a server is written at each start: a volume of an earlier release has its files as they were. Every
# service gets a volume with what it needs, below `for`: what it does not have, nobody can get out of it.
# All of it belongs to user 1000, whom every one of our containers runs as, and nobody else may read it.
set -eu
umask 077
cd /secrets

# Copies files into the volume of one service: whole, and only where they differ.
hand_out() {
    for file in "${@:2}"; do
        if ! cmp -s "$file" "for/$1/$file"; then
            mkdir -p "for/$1/$(dirname "$file")"
            cp "$file" "for/$1/.part"
            mv "for/$1/.part" "for/$1/$file"
        fi
    done
    chown -R 1000:0 "for/$1"
}

hand_out_all() {
    hand_out elasticsearch ca.pem server.pem server.key elastic.password
    hand_out kafka ca.pem server-with-key.pem
    hand_out connect ca.pem server.pem server.key server-with-key.pem server.p12 connect.users connect.jaas \
        connect-rest.properties jolokia.properties kafka-client.properties
    hand_out kibana ca.pem server.pem server.key kibana/kibana.yml
    hand_out metricbeat ca.pem server.pem server.key metricbeat.password connect.password
    hand_out lab ca.pem server.pem server.key connect.password target.yaml
}

password() { cat "$1.password"; }

make_secrets() {
    years=3650
    hosts=elasticsearch,elasticsearch-2,elasticsearch-3,elasticsearch-4,observer,kibana,kafka,connect,localhost
    names="DNS:${hosts//,/,DNS:},IP:127.0.0.1"
    openssl req -x509 -newkey rsa:3072 -nodes -days $years -subj "/CN=Sluice" -keyout ca.key -out ca.pem \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
    openssl req -newkey rsa:3072 -nodes -subj "/CN=sluice-servers" -keyout server.key -out server.csr 2>/dev/null
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days $years -out server.pem \
        -extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$names") 2>/dev/null
    cat server.key server.pem >server-with-key.pem

    for name in elastic kibana metricbeat connect; do
        openssl rand -hex 24 | tr -d '\n' >$name.password
    done
    # Connect's REST server takes key stores in Java's formats only.
    openssl pkcs12 -export -inkey server.key -in server.pem -out server.p12 -passout file:connect.password
    rm -f server.csr ca.srl
}

if [ ! -e complete ]; then
    make_secrets
fi

printf 'sluice: %s\n' "$(password connect)" >connect.users
cat >connect.jaas <<JAAS
KafkaConnect {
    org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required file="/secrets/connect.users";
};
JAAS
cat >connect-rest.properties <<REST
listeners.https.ssl.keystore.type=PKCS12
listeners.https.ssl.keystore.location=/secrets/server.p12
listeners.https.ssl.keystore.password=$(password connect)
REST
# Beside the policy and the address, which connect.sh gives.
cat >jolokia.properties <<JOLOKIA
protocol=https
serverCert=/secrets/server.pem
serverKey=/secrets/server.key
caCert=/secrets/ca.pem
useSslClientAuthentication=false
user=sluice
password=$(password connect)
JOLOKIA

# What Kafka's clients, in Java, need to show and to trust.
cat >kafka-client.properties <<KAFKA
security.protocol=SSL
ssl.keystore.type=PEM
ssl.keystore.location=/secrets/server-with-key.pem
ssl.truststore.type=PEM
ssl.truststore.location=/secrets/ca.pem
KAFKA

# Read after compose/kibana.yaml, and only what that one lacks. What Kibana has encrypted needs the key that it had.
mkdir -p kibana
key="$(sed -n 's/^xpack.encryptedSavedObjects.encryptionKey: //p' kibana/kibana.yml 2>/dev/null || true)"
cat >kibana/.part <<KIBANA
server.ssl.enabled: true
server.ssl.certificate: /secrets/server.pem
server.ssl.key: /secrets/server.key
elasticsearch.username: kibana_system
elasticsearch.password: $(password kibana)
elasticsearch.ssl.certificateAuthorities: [/secrets/ca.pem]
xpack.encryptedSavedObjects.encryptionKey: ${key:-$(openssl rand -hex 24)}
KIBANA
mv kibana/.part kibana/kibana.yml

cp /opt/sluice/secure/target.yaml target.yaml
hand_out_all
if [ -e complete ]; then
    echo "secrets: kept from the first start"
    exit 0
fi
touch complete
echo "secrets: made; the password of the user elastic, for Kibana too: docker compose exec elasticsearch cat config/secrets/elastic.password"
