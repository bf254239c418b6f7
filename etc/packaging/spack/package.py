# SPDX-License-Identifier: Apache-2.0
# For Spack 1. Not tested. Copy this directory to packages/nettopo of a repository (spack repo create). Put
# nettopo-VERSION.tar.gz of a release into the working directory, and check it with its SHA256SUMS. Then run
# "spack install --no-checksum nettopo". README.md beside this directory has the steps after that.
import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Nettopo(MakefilePackage):
    """Maps the network between the hosts of a Slurm job from measurements in the job's prolog."""

    manual_download = True
    url = "file://{0}/nettopo-0.1.0.tar.gz".format(os.getcwd())

    license("Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    for library in ("json-c", "libyaml", "sqlite", "openblas", "suite-sparse@7.4:", "scotch", "zlib-api", "ucx",
                    "pmix@4:", "hwloc@2:", "munge", "libsodium", "libseccomp", "slurm"):
        depends_on(library)

    def arguments(self):
        return [
            f"PREFIX={self.prefix}",
            f"SYSCONFDIR={self.prefix.etc}",
            f"SLURM_PREFIX={self.spec['slurm'].prefix}",
            f"SLURM_PLUGIN_DIR={self.prefix.lib.slurm}",
            # OpenBLAS has BLAS, CBLAS, LAPACK and LAPACKE in one library
            "SOLVER_LIBS=-ljson-c -lyaml -lsqlite3 -lamd -lldl -lopenblas -lscotch -lscotcherr -lz -lm",
        ]

    @property
    def build_targets(self):
        return ["all"] + self.arguments()

    @property
    def install_targets(self):
        return ["install"] + self.arguments()
