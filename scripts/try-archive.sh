#!/usr/bin/env bash
# Shows that an archive is whole and enough: scripts/try-archive.sh PYTHON ARCHIVE.tar.gz
#
# Unpacks it in an empty folder outside the repository, verifies every hash with Python alone, runs all
# notebooks of all studies there with the packages of PYTHON, and verifies again: now every figure, table
# and rendered notebook is what was just rebuilt. Downloads of this repository are used where they are.
set -euo pipefail
python=$(realpath -s "${1:?usage: scripts/try-archive.sh PYTHON ARCHIVE.tar.gz}")
archive=$(realpath "${2:?usage: scripts/try-archive.sh PYTHON ARCHIVE.tar.gz}")
downloads=$(realpath "$(dirname "$0")/../data/build")/downloads
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

tar -xzf "$archive" -C "$place"
cd "$place"/*/
"$python" -I -S verify.py "$archive"
"$python" -I -S verify.py
if [ -d "$downloads" ]; then mkdir -p data/build && ln -s "$downloads" data/build/downloads; fi
PYTHONPATH=$PWD "$python" -m lib.book
"$python" -I -S verify.py || { echo "try-archive: what was rebuilt is not what was archived" >&2; exit 1; }
