# SPDX-License-Identifier: Apache-2.0
"""The repository @platforms from the copy that comes with the installed Bazel."""

_PLACES = [
    "/usr/share/bazel/platforms",  # bazel-bootstrap-data
    "/usr/share/bazel/tools/platforms",  # bazel-platforms
]

def _installed_platforms(ctx):
    for place in _PLACES:
        if ctx.path(place + "/cpu").exists:
            for entry in ctx.path(place).readdir():
                ctx.symlink(entry, entry.basename)
            return
    fail("no platforms in any of %s: install bazel-bootstrap or bazel-platforms" % _PLACES)

installed_platforms = repository_rule(implementation = _installed_platforms, local = True)
