#!/usr/bin/env bash
# Whether an HTTP server on this port answers this path with 200, or the status given. For images without curl and wget.
set -eu
exec 3<>"/dev/tcp/localhost/$1"
printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3
read -r _ status _ <&3
[ "$status" = "${3:-200}" ]
