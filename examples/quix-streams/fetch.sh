#!/bin/sh
# Makes a Python environment with Quix Streams and a client that Elasticsearch 8 and 9 answer.
set -eu
folder=${1:?expected a folder}
python3 -m venv "$folder"
"$folder/bin/python" -m pip install -q 'quixstreams[elasticsearch]==3.28.1' 'elasticsearch<9'
echo "export SLUICE_QUIX=$folder"
