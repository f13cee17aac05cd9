# SPDX-License-Identifier: Apache-2.0
"""The rules that Bazel has built in, under the names that its own files load."""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
