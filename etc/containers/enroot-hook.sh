#!/bin/sh
# nettopo and the job's variables in containers of enroot and pyxis; see spank_nettopo(8), CONTAINERS.
# enroot starts no container when a hook fails, and this file stays when the package is removed.
mounts=/usr/local/share/nettopo/container-mounts
[ ! -x $mounts ] || $mounts || :
