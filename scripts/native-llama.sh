#!/usr/bin/env bash
# Compiles llama.cpp's server for this machine's own processor: scripts/native-llama.sh PYTHON
#
# Optional. The wheel of xllamacpp is built for AVX2; with AVX-512 or AMX a native build reads
# prompts several times as fast. The source is the copy of llama.cpp inside the source archive of
# llama-cpp-python, pinned by hash; needs a C++ compiler, takes about ten minutes on two cores.
# `make run` and `make pilot` use the result when it is there. Without AMX the program to use is the
# wrapper `llama-server-no-repack`: the plain kernels for K-quants, which use VNNI, read 1.6 times as
# fast as the repacked ones (135 against 82 tokens/s on two Zen 4 cores, 600-token prompts).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?usage: scripts/native-llama.sh PYTHON}
archive=llama_cpp_python-0.3.36.tar.gz
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
target=${MINILAKE_BUILD:-data/build}/llama
wrapper=$target/llama-server-no-repack
[ -x "$target/llama-server" ] && { echo "native-llama: $target/llama-server is there"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install -q --disable-pip-version-check cmake ninja scikit-build-core
"$work/tools/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary :all: --no-build-isolation \
    -d "$work" "llama-cpp-python==0.3.36"
echo "$sha256  $work/$archive" | sha256sum -c --quiet
tar xzf "$work/$archive" -C "$work"
source=$work/${archive%.tar.gz}/vendor/llama.cpp
# GCC's ldtilecfg intrinsic names 8 of the 64 bytes that it reads as its input, so the compiler may
# leave the tile configuration unwritten, and the first AMX instruction is then illegal.
sed -i 's|^    _tile_loadconfig(&tc);|    __asm__ volatile("" : : "r"(\&tc) : "memory");\n&|' \
    "$source/ggml/src/ggml-cpu/amx/mmq.cpp"
export PATH=$work/tools/bin:$PATH
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF \
    -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
    -DLLAMA_BUILD_NUMBER=1 -DLLAMA_BUILD_COMMIT=sdist >"$work/cmake.log"
cmake --build "$work/build" --target llama-server >"$work/build.log" || { tail -20 "$work/build.log"; exit 1; }
mkdir -p "$target"
mv "$work/build/bin/llama-server" "$target/llama-server"
if ! grep -qw amx_int8 /proc/cpuinfo; then
    printf '#!/bin/sh\nexec "$(dirname "$0")/llama-server" --no-repack "$@"\n' >"$wrapper"
    chmod +x "$wrapper"
fi
echo "native-llama: built $target/llama-server"
