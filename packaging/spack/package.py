# SPDX-License-Identifier: Apache-2.0
# The package hx for Spack. In a repository of packages it is packages/hx/package.py. Until there is a release to fetch it
# builds a checkout: spack develop --path CHECKOUT hx@main, or spack dev-build hx@main in it.

from spack.package import *


class Hx(CMakePackage):
    """Reductions and single-precision matrix products on the CPU and the GPU of one machine at the same time, with the same
    bits whatever the split."""

    maintainers = []

    license("Apache-2.0")

    version("main")

    variant("bench", default=True, description="Build hx-bench")

    depends_on("c", type="build")
    depends_on("cmake@3.16:", type="build")
    depends_on("hwloc@2:")
    depends_on("opencl-c-headers", type="build")
    # The OpenCL loader is found at run time, and hx works without it.

    conflicts("platform=darwin", msg="hx runs on Linux only")
    conflicts("platform=windows", msg="hx runs on Linux only")

    def cmake_args(self):
        return [
            self.define_from_variant("HX_BENCH", "bench"),
            self.define("HX_TESTS", self.run_tests),
            self.define("HX_OPENCL_INCLUDE", self.spec["opencl-c-headers"].prefix.include),
        ]
