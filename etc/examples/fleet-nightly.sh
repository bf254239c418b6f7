#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What jobs left since last time, for a timer on the host that keeps the store (as root, which owns
# the archive): taken in, the prior of the next sweeps and the metrics written, changes printed.
#   fleet-nightly.sh ARCHIVE STORE PRIOR METRICS.prom
set -u
archive=${1:?archive} store=${2:?store} prior=${3:?prior} metrics=${4:?metrics}

nettopo fleet ingest --store "$store" "$archive" # what it refuses it says; the rest is taken
nettopo fleet show --store "$store" --plain
nettopo fleet since --store "$store" --current
nettopo fleet prior --store "$store" -o "$prior" &&
    nettopo fleet metrics --store "$store" -o "$metrics" &&
    nettopo fleet check --store "$store" # exit 1: a line for each suspect
