#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Imports the maps of new jobs, writes the prior for later sweeps and the metrics, and prints changes.
# For a timer on the host that keeps the store. It runs as root, because root owns the archive.
#   fleet-nightly.sh ARCHIVE STORE PRIOR METRICS.prom
set -u
archive=${1:?archive} store=${2:?store} prior=${3:?prior} metrics=${4:?metrics}

nettopo fleet ingest --store "$store" "$archive" # it names files that it rejects, and imports the rest
nettopo fleet show --store "$store" --plain
nettopo fleet since --store "$store" --current
nettopo fleet prior --store "$store" -o "$prior" &&
    nettopo fleet metrics --store "$store" -o "$metrics" &&
    nettopo fleet check --store "$store" # exit 1: a line for each suspect
