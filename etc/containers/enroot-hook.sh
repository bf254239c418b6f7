#!/bin/sh
# nettopo and the job's variables in containers of enroot and pyxis; see spank_nettopo(8), CONTAINERS.
exec /usr/local/share/nettopo/container-mounts
