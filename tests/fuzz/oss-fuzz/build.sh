#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
# Builds all fuzzers in the layout of OSS-Fuzz: $OUT/fuzz_NAME with fuzz_NAME_seed_corpus.zip. The
# environment sets CC, CFLAGS, SANITIZER, LIB_FUZZING_ENGINE and OUT; without it, the system's clang,
# address and undefined, libFuzzer and build/oss-fuzz are used:
#   tests/fuzz/oss-fuzz/build.sh [FUZZER...]
# A base image needs the packages that "etc/dependencies list" prints.
cd "$(dirname "$0")/../../.."
out=${OUT:-$PWD/build/oss-fuzz}
sanitizer=${SANITIZER:-address,undefined}
engine=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}
[ "$sanitizer" != coverage ] || sanitizer=
mkdir -p "$out"
if [ $# = 0 ]; then
    mapfile -t all < <(basename -s .c tests/fuzz/fuzz_*.c)
    set -- "${all[@]}"
fi

folder=fuzzer-no-link${sanitizer:+,$sanitizer}
build=build/${folder//,/-}/clang
# a compiler that is newer than ours may warn of more
make -s -j"$(nproc)" CC="${CC:-clang}" SANITIZE="$folder" CFLAGS="${CFLAGS:--O1 -g} -Wno-error" FUZZ_ENGINE="$engine" \
    "${@/#/$build/fuzz/}"
for fuzzer in "$@"; do
    cp "$build/fuzz/$fuzzer" "$out/"
    corpus=tests/fuzz/corpus/${fuzzer#fuzz_}
    [ ! -d "$corpus" ] || (cd "$corpus" && rm -f "$out/${fuzzer}_seed_corpus.zip" &&
        python3 -m zipfile -c "$out/${fuzzer}_seed_corpus.zip" ./*)
done
