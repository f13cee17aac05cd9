# SPDX-License-Identifier: Apache-2.0
"""What runs on which OpenCL driver (driver.sh knows them), with the checking layer in between: a row a test."""

# bits_test: driver, HX_DEVICES, HX_MEMORY (None: each in turn), cases. The sizes of slow drivers are bounded below.
_BITS = [
    ("none", "cpu", "auto", 4000),
    ("none", "sim", "auto", 2000),
    ("pocl", "pocl", "auto", 500),
    ("pocl", "pocl", "svm-fine", 1000),
    ("pocl", "pocl", "svm-coarse", 1000),
    ("pocl", "pocl", "hostptr", 1000),
    ("pocl", "pocl", "copy", 1000),
    ("rusticl", "rusticl", "hostptr", 300),
    ("rusticl", "rusticl", "copy", 300),
    ("oclgrind", "opencl-cpu", None, 30),
    ("intel", "opencl-cpu", "svm-system", 500),
    ("intel", "opencl-cpu", "svm-fine", 500),
    ("intel", "opencl-cpu", "svm-coarse", 500),
    ("intel", "opencl-cpu", "usm", 500),
    ("intel", "opencl-cpu", "hostptr", 500),
    ("intel", "opencl-cpu", "copy", 500),
    ("pocl6", "pocl", "svm-system", 500),
    ("pocl6", "pocl", "usm", 500),
]

_BITS_LIMITS = {
    "rusticl": ["--max-n", "60000", "--max-mnk", "200000"],
    # Nearly all of its time goes to the self-tests, once a process; rows_test runs the product's greater tiles. Those of
    # the kernels of lines, of which each case may need another one, would take ten minutes.
    "oclgrind": ["--max-n", "20000", "--max-mnk", "20000", "--batch", "5", "--tile", "32x32x16", "--lines", "0", "--structures", "1"],
}

# Other programs: name, driver, arguments.
_OTHERS = [
    ("alloc_test", "none", []),
    ("alloc_test", "pocl", ["--devices", "pocl"]),
    ("api_memory_test", "pocl", ["cpu,pocl", "svm-fine"]),
    ("api_memory_test", "pocl", ["cpu,pocl", "svm-coarse"]),
    ("api_memory_test", "pocl", ["cpu,pocl", "hostptr"]),
    ("api_memory_test", "pocl", ["cpu,pocl", "copy"]),
    ("api_memory_test", "rusticl", ["cpu,rusticl"]),
    ("api_memory_test", "intel", ["cpu,opencl-cpu", "svm-system"]),
    ("api_memory_test", "intel", ["cpu,opencl-cpu", "usm"]),
    ("batch_test", "pocl", ["cpu,pocl", "hostptr", "40"]),
    ("batch_test", "pocl", ["cpu,pocl", "copy", "40"]),
    ("batch_device_test", "pocl", ["pocl", "copy"]),
    ("batch_device_test", "pocl", ["pocl", "hostptr"]),
    ("batch_device_test", "pocl", ["pocl", "svm-coarse"]),
    ("batch_device_test", "rusticl", ["rusticl", "copy"]),
    ("batch_device_test", "intel", ["opencl-cpu", "svm-fine"]),
    ("batch_device_test", "none", ["sim"]),
    ("many_test", "pocl", ["cpu,pocl", "copy", "10"]),
    ("lines_test", "pocl", ["cpu,pocl", "hostptr", "100"]),
    ("lines_test", "pocl", ["cpu,pocl", "copy", "100"]),
    ("completion_test", "pocl", ["pocl"]),
    ("fields_test", "pocl", ["--devices", "pocl", "--memory", "hostptr", "--seed", "1"]),
    ("fields_test", "pocl", ["--devices", "pocl", "--memory", "copy", "--seed", "2"]),
    ("fields_test", "pocl", ["--devices", "pocl", "--memory", "svm-fine", "--seed", "3"]),
    ("elementary_test", "pocl", ["pocl"]),
    ("elementary_test", "intel", ["opencl-cpu"]),
    ("division_test", "pocl", ["pocl", "1"]),
    ("division_test", "intel", ["opencl-cpu", "2"]),
    ("division_test", "rusticl", ["rusticl", "3"]),
    ("map_test", "pocl", ["cpu,pocl", "hostptr", "30"]),
    ("map_test", "pocl", ["cpu,pocl", "copy", "30"]),
    ("map_rows_test", "pocl", ["cpu,pocl", "copy", "200"]),
    ("map_rows_test", "pocl", ["cpu,pocl", "hostptr", "100"]),
    ("map_rows_test", "pocl", ["cpu,pocl", "svm-fine", "100"]),
    ("map_rows_test", "rusticl", ["cpu,rusticl", "copy", "60"]),
    ("map_outputs_test", "pocl", ["cpu,pocl", "copy", "60"]),
    ("map_outputs_test", "pocl", ["cpu,pocl", "svm-coarse", "30"]),
    ("outputs_memory_test", "pocl", ["cpu,pocl", "copy", "20"]),
    ("outputs_memory_test", "pocl", ["cpu,pocl", "hostptr", "20"]),
    ("outputs_memory_test", "pocl", ["cpu,pocl", "svm-fine", "20"]),
    ("outputs_memory_test", "pocl", ["cpu,pocl", "svm-coarse", "20"]),
    ("outputs_memory_test", "rusticl", ["cpu,rusticl", "copy", "10"]),
    ("many_kernels_test", "pocl", ["pocl"]),
    ("map_index_test", "pocl", ["cpu,pocl", "copy"]),
    ("map_index_test", "pocl", ["cpu,pocl", "svm-fine"]),
    ("map_launch_test", "pocl", ["pocl", "svm-fine,svm-coarse,hostptr,copy"]),
    ("map_launch_test", "pocl6", ["pocl", "svm-system,usm"]),
    ("map_launch_test", "rusticl", ["rusticl", "hostptr,copy"]),
    ("memory_reuse_test", "pocl", ["cpu,pocl"]),
    ("memory_reuse_test", "rusticl", ["cpu,rusticl"]),
    ("memory_reuse_test", "intel", ["cpu,opencl-cpu"]),
    ("resident_test", "pocl", ["pocl", "copy"]),
    ("resident_test", "pocl", ["pocl", "svm-coarse"]),
    ("resident_test", "rusticl", ["rusticl", "copy", "100"]),
    ("resident_map_test", "pocl", ["pocl", "copy"]),
    ("resident_map_test", "pocl", ["pocl", "svm-fine"]),
    ("resident_map_test", "pocl", ["pocl", "svm-coarse"]),
    ("resident_map_test", "pocl", ["pocl", "hostptr"]),
    ("resident_map_test", "rusticl", ["rusticl", "copy", "60"]),
    ("upload_parts_test", "pocl", ["pocl"]),
    ("upload_parts_test", "pocl", ["pocl", "64x128x16"]),
    ("single_launch_test", "pocl", ["pocl"]),
    ("busy_build_test", "pocl", ["pocl"]),
    ("exit_time_test", "pocl", ["pocl"]),
    ("limits_test", "pocl", ["cpu,pocl"]),
    ("pinning_cost_test", "pocl", ["pocl", "product"]),
    ("pinning_cost_test", "pocl", ["pocl", "late"]),
    ("process_test", "pocl", ["--devices", "pocl"]),
    ("caller_state_test", "pocl", ["--devices", "pocl"]),
    ("host_process_test", "pocl", ["--devices", "pocl"]),
    ("trace_test", "pocl", ["--devices", "all"]),
    ("many_devices_test", "pocl", ["1"]),
    ("many_devices_test", "rusticl", ["1"]),
    ("many_devices_test", "all", ["2"]),
    ("panels_rows_test", "pocl", []),
    ("panels_rows_test", "oclgrind", ["--small"]),
    ("rows_test", "oclgrind", ["$(location :emulation.cl)", "--small"]),
    ("rows_test", "intel", ["$(location :emulation.cl)", "--small"]),
    ("rows_test", "pocl6", ["$(location :emulation.cl)", "--small"]),
]

# Programs of which a part is that kernels are being built: drivers have not compiled them before.
_BUILDING = ["busy_build_test", "exit_time_test"]

# Programs that are run by the rows of this file alone.
BY_ROW = [
    "alloc_hang_test",
    "single_launch_test",
    "bits_test",
    "busy_build_test",
    "coarse_view_test",
    "completion_test",
    "cache_test",
    "exit_time_test",
    "fields_test",
    "laptop_test",
    "many_kernels_test",
    "map_launch_test",
    "pinning_cost_test",
    "resident_map_test",
    "max_alloc_test",
    "panels_rows_test",
    "room_test",
    "rows_test",
    "nvidia_set_test",
    "upload_stall_test",
    "tune_test",
]

# max_alloc_test, under dress_layer: HX_MEMORY, the limit's square, DRESS, HX_TILE. 256 is 256 KiB, 512 is 1 MiB.
_LIMITS = [
    ("svm-fine", 256, "none", "default"),
    ("svm-coarse", 256, "none", "default"),
    ("hostptr", 256, "none", "default"),
    ("copy", 256, "none", "default"),
    ("copy", 512, "none", "default"),
    ("copy", 256, "none", "16x32x16"),
    ("auto", 256, "igpu", "default"),
    ("copy", 256, "gpu", "default"),
]

# laptop_test, under dress_layer: the driver that computes, and the laptop's GPU. Intel's driver has Intel's sub-groups.
_LAPTOPS = [
    ("pocl", "tgl"),
    ("pocl", "phoenix"),
    ("intel", "tgl-neo"),
]

# bits_test with an HX_TILE: the sub-group tile of the 4 KB register file where sub-groups are executed, others elsewhere.
_TILES = [
    ("intel", "opencl-cpu", "16x32x16", 300),
    ("intel", "opencl-cpu", "8x32x16", 200),
    ("pocl", "pocl", "16x32x16", 200),
    ("pocl", "pocl", "32x64x8", 200),
]

# cache_test: driver, HX_DEVICES, kinds of damages. Not pocl6: its loader's name is what /proc/self/exe says.
_CACHE = [
    ("pocl", "pocl", 3),
    ("rusticl", "rusticl", 1),
    ("intel", "opencl-cpu", 3),
]

# tune_test: driver, HX_DEVICES.
_TUNE = [
    ("pocl", "pocl"),
]

def name_of(program):
    """The name of a test from its source: sched/model_test.c is model_test."""
    return program.split("/")[-1][:-2]

def _driver_test(name, program, driver, args, data = [], layer = "check_layer"):
    building = ["--building"] if program in _BUILDING else []
    native.sh_test(
        name = name,
        size = "large",
        timeout = "eternal" if program == "rows_test" else "long", # every program of every row is compiled
        srcs = ["driver.sh"],
        args = [driver] + building + [
            "--layer",
            "$(location :lib%s.so)" % layer,
            "$(location :%s)" % program,
        ] + args,
        data = [
            ":emulation.cl",
            ":lib%s.so" % layer,
            ":" + program,
        ] + data,
        tags = ["driver-" + driver],
    )

def driver_tests():
    """All rows; the seed of a row is its place, so that no two run the same cases."""
    seed = 0
    for driver, devices, memory, cases in _BITS:
        seed += 1
        where = devices if driver == "none" else driver
        args = ["--devices", devices, "--cases", str(cases), "--seed", str(seed)]
        args += (["--memory", memory] if memory else []) + _BITS_LIMITS.get(driver, [])
        _driver_test("bits_%s_%s" % (where, memory or "any"), "bits_test", driver, args)
    for driver, devices, tile, cases in _TILES:
        seed += 1
        args = ["--devices", devices, "--tile", tile, "--cases", str(cases), "--seed", str(seed)]
        _driver_test("bits_%s_%s" % (driver, tile), "bits_test", driver, args)
    args = ["--devices", "pocl", "--cases", "200", "--seed", str(seed + 1)]
    _driver_test("bits_toy", "bits_test_toy", "none", ["--devices", "1", "--cases", "2000", "--seed", str(seed + 2)])
    _driver_test("bits_ftz", "bits_test_ftz", "pocl", args)
    for program, driver, args in _OTHERS:
        memory = [word for word in args[1:] if word != driver and not word.startswith("-")]
        name = "_".join([program, driver] + memory).replace(",", "_")
        _driver_test(name, program, driver, args)
    for memory, side, dress, tile in _LIMITS:
        name = "_".join(["max_alloc_test", memory, str(side), dress, tile])
        _driver_test(name, "max_alloc_test", "pocl", ["pocl", memory, str(side), dress, tile], layer = "dress_layer")
    # A GPU reduces a leaf by 32 work-items.
    args = ["pocl", "copy,hostptr", "gpu"]
    _driver_test("map_launch_test_gpu", "map_launch_test", "pocl", args, layer = "dress_layer")
    args = ["cpu,pocl", "copy", "100", "7", "gpu"]
    _driver_test("map_rows_test_gpu", "map_rows_test", "pocl", args, layer = "dress_layer")
    args = ["cpu,pocl", "copy", "20", "7", "gpu"]
    _driver_test("map_outputs_test_gpu", "map_outputs_test", "pocl", args, layer = "dress_layer")
    _driver_test("room_test_pocl", "room_test", "pocl", ["cpu,pocl"], layer = "room_layer")
    for view in ["hidden", "kept"]:
        _driver_test("coarse_view_test_" + view, "coarse_view_test", "pocl", ["pocl", view], layer = "view_layer")
    for driver, laptop in _LAPTOPS:
        _driver_test("laptop_test_" + laptop, "laptop_test", driver, [laptop], layer = "dress_layer")
    for case in ["0", "1"]:
        args = ["pocl", "svm-fine", "clSVMAlloc", case]
        _driver_test("alloc_hang_test_" + case, "alloc_hang_test", "pocl", args, layer = "fault_layer")
    for driver, devices in _TUNE:
        _driver_test("tune_test_" + driver, "tune_test", driver, ["--devices", devices])
    for driver, devices, damages in _CACHE:
        args = ["--devices", devices, "--fault", "$(location :libfault_layer.so)"]
        args += ["--crash", "$(location :libcrash_layer.so)", "--damages", str(damages)]
        _driver_test("cache_test_" + driver, "cache_test", driver, args, [":libcrash_layer.so", ":libfault_layer.so"])
