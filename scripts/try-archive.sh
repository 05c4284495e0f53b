#!/usr/bin/env bash
# Shows that an archive is whole and enough: scripts/try-archive.sh PYTHON ARCHIVE.tar.gz
#
# Unpacks it in an empty folder outside the repository, verifies every hash with Python alone, runs all
# notebooks of all studies there with the packages of PYTHON, and verifies again: now every figure, table
# and rendered notebook is what was just rebuilt. The rendered notebook 03 is let
# off: it compares a new search, which a processor of a third kind may move further than was measured. Downloads of this repository are used where they are.
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
told=$("$python" -I -S verify.py) || true
echo "$told"
if grep -E ': (missing|changed|extra|is )' <<<"$told" | grep -vE '^notebooks/rendered/[^/]+/03_'; then
    echo "try-archive: what was rebuilt is not what was archived" >&2
    exit 1
fi
