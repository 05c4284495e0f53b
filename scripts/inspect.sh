#!/usr/bin/env bash
# Installs Inspect AI into an environment of its own, data/build/inspect-env, once: scripts/inspect.sh PYTHON
#
# It wants older fsspec and dateutil than requirements.lock. Only export-inspect, its test and the
# bench of the runner use it. PYTHON is the one of the study's environment.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?usage: scripts/inspect.sh PYTHON}
lock=requirements-inspect.lock env=data/build/inspect-env

if cmp -s "$lock" "$env/.installed"; then exit 0; fi
echo "inspect: installing into $env ..." >&2
rm -rf "$env"
if command -v uv >/dev/null; then
    uv venv -q --python "$python" "$env"
    uv pip install -q --python "$env/bin/python" --no-deps -r "$lock"
else
    "$python" -m venv "$env"
    "$env/bin/python" -m pip install -q --disable-pip-version-check --no-compile --no-deps -r "$lock"
fi
cp "$lock" "$env/.installed"
