#!/usr/bin/env bash
# Installs the pinned packages into an environment, once: scripts/setup.sh ENV
#
# ENV is the active conda environment or .venv (the Makefile chooses); a venv is created when
# missing. uv when it is there, pip otherwise. A stamp in ENV holds the hash of everything that
# decides what is installed, so that a second call does nothing. PYTHON=... picks the Python
# that a new .venv is made with.
set -euo pipefail
cd "$(dirname "$0")/.."
env=${1:?usage: scripts/setup.sh ENV}
lock=requirements.lock torch=requirements-torch.txt
torch_index=https://download.pytorch.org/whl/cpu

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
hash_of() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1; }
timed() { # timed WHAT COMMAND...: run it, say what it was and how long it took
    local what=$1 start=$SECONDS; shift
    say "$what ..."
    "$@" || return
    say "$what: done in $((SECONDS - start)) s"
}

stamp=$env/.minilake-setup
wanted=$(pwd | cat - "$lock" "$torch" scripts/setup.sh | hash_of)
if [ -x "$env/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
find_python() {
    local name
    for name in ${PYTHON:+"$PYTHON"} python3 python python3.11 python3.12 python3.13 python3.14; do
        if new_enough "$name"; then "$name" -c 'import sys; print(sys.executable)'; return; fi
    done
    return 1
}
have_uv() { command -v uv >/dev/null; }

make_venv() {
    local python
    if ! python=$(find_python); then
        have_uv || die "no Python 3.11 or newer found (tried PYTHON, python3, python, python3.11 to python3.14)"
        python=3.11  # uv brings one
    fi
    if have_uv; then
        uv venv -q --allow-existing --python "$python" "$env"
    else
        "$python" -m venv "$env" || die "$python -m venv failed (on Debian: apt-get install python3-venv), or install uv"
    fi
}

install() { # install ARGUMENTS...: uv or pip, dependencies are the lock's business
    # --no-compile: pip would compile 200 packages to bytecode, most of which are never imported.
    if have_uv; then uv pip install -q --python "$env/bin/python" --no-deps "$@"
    else "$env/bin/python" -m pip install -q --disable-pip-version-check --no-compile --no-deps "$@"; fi
}

has_torch() { # the pinned version, or a build of it (2.13.0+cpu)
    "$env/bin/python" - "$(sed -n 's/^torch==//p' "$torch")" <<'PY'
import importlib.metadata, sys
try:
    sys.exit(importlib.metadata.version("torch").split("+")[0] != sys.argv[1])
except importlib.metadata.PackageNotFoundError:
    sys.exit(1)
PY
}

install_torch() {
    # The CPU build: a wheel at hand, else (Linux only; elsewhere PyPI has the CPU build) PyTorch's
    # own index, else PyPI's CUDA build with all that it needs.
    local places=${PIP_FIND_LINKS:-} place links=()
    for place in $places ${UV_FIND_LINKS:+"${UV_FIND_LINKS//,/ }"}; do links+=(--find-links "$place"); done
    if [ ${#links[@]} -gt 0 ] && install --no-index "${links[@]}" -r "$torch" 2>/dev/null; then return; fi
    if [ "$(uname -s)" != Linux ]; then install -r "$torch"; return; fi
    if install --index-url "$torch_index" -r "$torch"; then return; fi
    say "no CPU build of torch within reach: taking PyPI's, a CUDA build of several GB"
    if have_uv; then uv pip install -q --python "$env/bin/python" -r "$torch"
    else "$env/bin/python" -m pip install -q --disable-pip-version-check -r "$torch"; fi
}

if have_uv; then tool="uv $(uv --version | cut -d' ' -f2)"; else tool=pip; fi
[ -x "$env/bin/python" ] || timed "creating $env ($tool)" make_venv
new_enough "$env/bin/python" || die "$env has $("$env/bin/python" --version 2>&1); needed: Python 3.11 or newer"
rm -f "$stamp"
has_torch || timed "installing $(head -1 "$torch") ($tool)" install_torch
timed "installing the $(grep -c '^[a-zA-Z0-9].*==' "$lock") pinned packages of $lock ($tool)" \
    install --require-hashes -r "$lock"
# `import lib` from anywhere, also from a notebook opened in JupyterLab.
pwd > "$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/minilake.pth"
echo "$wanted" > "$stamp"
say "$env is ready: $("$env/bin/python" --version), $SECONDS s in all"
