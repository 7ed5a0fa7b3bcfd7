#!/usr/bin/env bash
# Whether a broker answers on this port: it is asked which versions of Kafka's protocol it speaks (request 18, as bytes).
# Kafka's own tools would start a JVM each time, next to what is being measured.
set -eu
exec 3<>"/dev/tcp/localhost/$1"
printf '\0\0\0\14\0\22\0\0\0\0\0\1\0\2up' >&3
[ "$(head -c 4 <&3 | wc -c)" -eq 4 ]
