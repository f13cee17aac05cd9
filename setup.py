# SPDX-License-Identifier: Apache-2.0
"""Builds hx/_native and puts libhx.so.0 beside it.

HX_LIBRARY says where libhx.so.0 comes from: a path, which ./hx wheel gives; "system" for the installed one (by
pkg-config), of which no copy is made; or, if it is not set, Bazel or CMake builds it here.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent
LIBRARY = "libhx.so.0"
SCRATCH = ".hx/python"  # what is built besides the wheel; ignored by git
# The stable interface has the buffer protocol from 3.11 on. Builds without the GIL do not have it.
STABLE = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")


def version():
    """As runtime/hx.h says."""
    text = (ROOT / "runtime/hx.h").read_text()
    number = int(re.search(r"^#define HX_VERSION_NUMBER (\d+)", text, re.M).group(1))
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def built_library():
    """The library, built by Bazel, or without Bazel by CMake."""
    if shutil.which("bazel"):
        subprocess.run(["bazel", "build", "//runtime:" + LIBRARY], cwd=ROOT, check=True)
        return pathlib.Path(output_of("bazel", "info", "bazel-bin")) / "runtime" / LIBRARY
    if not shutil.which("cmake"):
        sys.exit(f"hx: there is neither bazel nor cmake to build {LIBRARY}; install one, or set HX_LIBRARY")
    folder = ROOT / SCRATCH / "cmake"
    only = ["-DHX_BENCH=OFF", "-DHX_TESTS=OFF", "-DHX_INSTALL=OFF"]
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), *only], check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "hx", "--parallel"], check=True)
    return folder / "runtime" / LIBRARY


class Build(build_ext):
    """Links with the library by its path. The extension finds its copy, which lies beside it."""

    def run(self):
        (extension,) = self.extensions
        where = os.environ.get("HX_LIBRARY")
        if where == "system":
            extension.extra_compile_args += output_of("pkg-config", "--cflags", "hx").split()
            extension.extra_link_args += output_of("pkg-config", "--libs", "hx").split()
            return super().run()
        library = pathlib.Path(where) if where else built_library()
        extension.include_dirs.append(str(ROOT / "runtime"))
        extension.extra_objects.append(str(library))
        extension.extra_link_args.append("-Wl,-rpath,$ORIGIN")
        super().run()
        copy = pathlib.Path(self.get_ext_fullpath(extension.name)).with_name(LIBRARY)
        copy.unlink(missing_ok=True)
        shutil.copyfile(library, copy)
        copy.chmod(0o755)


class Wheel(bdist_wheel):
    """One wheel for every version with the stable interface."""

    def finalize_options(self):
        if STABLE:
            self.py_limited_api = "cp311"
        super().finalize_options()


(ROOT / SCRATCH).mkdir(parents=True, exist_ok=True)

setup(
    version=version(),
    options={"build": {"build_base": SCRATCH}, "egg_info": {"egg_base": SCRATCH}},
    cmdclass={"build_ext": Build, "bdist_wheel": Wheel},
    ext_modules=[
        Extension(
            "hx._native",
            sorted(str(p.relative_to(ROOT)) for p in (ROOT / "python/native").glob("*.c")),
            depends=["python/native/native.h", "python/native/kernel.h", "runtime/hx.h", "runtime/hx_map.h"],
            define_macros=[("Py_LIMITED_API", "0x030b0000")] if STABLE else [],
            extra_compile_args=["-std=gnu11", "-O3", "-fvisibility=hidden", "-Wall", "-Wextra"],
            libraries=["m"],  # fegetenv
            extra_link_args=["-Wl,-z,relro,-z,now", "-s"],
            py_limited_api=STABLE,
        )
    ],
)
