#!/usr/bin/env bash
# Whether somebody listens on this port. Where connections are encrypted, more would take a certificate.
set -eu
exec 3<>"/dev/tcp/localhost/$1"
