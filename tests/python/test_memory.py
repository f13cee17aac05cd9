# SPDX-License-Identifier: Apache-2.0
"""Arrays of hx, registration, and DLPack: the same memory, no copies."""
import array
import ctypes
import gc
import multiprocessing
import sys
import unittest
import weakref

import numpy as np

import hx


class Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Plain(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Exporter:
    """A tensor of another library: DLPack, and no buffer protocol."""

    codes = {"i": 0, "u": 1, "f": 2}

    def __init__(self, values, version=1, flags=0, device_type=1, bits=None, contiguous=False, offset=0):
        self.values, self.version, self.deleted = values, version, 0
        self.shape = (ctypes.c_int64 * 8)(*values.shape)
        self.strides = (ctypes.c_int64 * 8)(*(s // values.itemsize for s in values.strides))
        tensor = Tensor(
            values.ctypes.data - offset,
            device_type,
            0,
            values.ndim,
            self.codes[values.dtype.kind],
            bits or values.itemsize * 8,
            1,
            self.shape,
            None if contiguous else self.strides,
            offset,
        )
        self.deleter = DELETER(self.delete)
        if version:
            self.managed = Versioned(version, 0, None, self.deleter, flags, tensor)
        else:
            self.managed = Plain(tensor, None, self.deleter)

    def delete(self, unused):
        self.deleted += 1

    def __dlpack__(self, **options):
        if not self.version and options:
            raise TypeError("unexpected keyword argument")
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        name = b"dltensor_versioned" if self.version else b"dltensor"
        return new(ctypes.addressof(self.managed), name, None)


def address(a):
    return a.__array_interface__["data"][0]


class Arrays(unittest.TestCase):
    def test_numpy_arrays_over_memory_of_hx(self):
        a = hx.empty((3, 1000))
        self.assertIs(type(a), np.ndarray)
        self.assertEqual(
            (a.shape, a.dtype, a.flags.c_contiguous, a.flags.writeable), ((3, 1000), np.float32, True, True)
        )
        self.assertEqual(address(a) % 4096, 0)
        a[...] = 1
        self.assertEqual(hx.sum(a), 3000)
        self.assertEqual(address(np.asarray(memoryview(a))), address(a))

    def test_contents(self):
        self.assertFalse(hx.zeros(5000, np.int32).any())
        np.testing.assert_array_equal(hx.array([[1, 2], [3, 4]], np.uint32), np.array([[1, 2], [3, 4]], np.uint32))
        x = np.arange(6, dtype=np.int32).reshape(2, 3).T
        y = hx.array(x)
        self.assertTrue(y.flags.c_contiguous and y.dtype == x.dtype and (y == x).all())
        self.assertEqual(hx.empty(7).shape, (7,))
        self.assertEqual(hx.empty((0, 3)).shape, (0, 3))
        self.assertEqual(hx.zeros(()).shape, ())
        for shape in ([2, np.int64(3)], np.array([2, 3]), np.array([4]), np.array(4), np.uint8(4)):
            self.assertEqual(hx.empty(shape).shape, np.empty(shape).shape)

    def test_memory_outlives_the_context(self):
        c = hx.Context(devices="cpu")
        a = hx.zeros(1000, context=c)
        c.close()
        a[...] = 3
        self.assertEqual(hx.sum(a), 3000)
        with self.assertRaisesRegex(hx.InvalidArgument, "closed"):
            hx.sum(a, context=c)

    def test_views_keep_the_memory(self):
        a = hx.zeros(100000)
        part = a[10:20]
        del a
        gc.collect()
        part[...] = 1
        self.assertEqual(hx.sum(part), 10)


class DLPack(unittest.TestCase):
    def test_in_without_a_copy(self):
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        for source in (values, values.T, values[::2, ::-1]):
            for version in (0, 1):
                exporter = Exporter(source, version)
                a = hx.from_dlpack(exporter)
                self.assertEqual(address(a), address(source))
                self.assertEqual((a.shape, a.strides, a.dtype), (source.shape, source.strides, source.dtype))
                self.assertTrue(a.flags.writeable)
                self.assertEqual(exporter.deleted, 0)
                del a
                gc.collect()
                self.assertEqual(exporter.deleted, 1)

    def test_offsets_read_only_tensors_and_missing_strides(self):
        values = np.arange(12, dtype=np.int32).reshape(3, 4)
        a = hx.from_dlpack(Exporter(values, flags=1, contiguous=True, offset=16))
        np.testing.assert_array_equal(a, values)
        self.assertEqual(address(a), address(values))
        self.assertFalse(a.flags.writeable)

    def test_tensors_as_arguments(self):
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        out = np.zeros((3, 3), np.float32)
        exporters = Exporter(values), Exporter(values.T, 0), Exporter(out)
        self.assertIs(hx.matmul(exporters[0], exporters[1], out=exporters[2]), exporters[2])
        np.testing.assert_array_equal(out, values @ values.T)
        self.assertEqual(hx.sum(exporters[0]), 66)
        np.testing.assert_array_equal(hx.mean(exporters[0], 0), values.mean(0))
        with self.assertRaisesRegex(hx.InvalidArgument, "out is read-only"):
            hx.matmul(values, values.T, out=Exporter(out, flags=1))

    def test_what_numpy_does_not_have(self):
        values = np.zeros(4, np.float32)
        exporter = Exporter(values, device_type=2)
        with self.assertRaisesRegex(BufferError, "type 2"):
            hx.sum(exporter)
        self.assertEqual(exporter.deleted, 0)
        with self.assertRaisesRegex(BufferError, "element type"):
            hx.from_dlpack(Exporter(values, bits=4))
        with self.assertRaisesRegex(BufferError, "version 2"):
            hx.from_dlpack(Exporter(values, version=2))
        with self.assertRaises(ValueError):
            hx._native.View(3)

    def test_capsules_are_taken_once(self):
        capsule = Exporter(np.zeros(4, np.float32)).__dlpack__()
        hx._native.View(capsule)
        with self.assertRaises(ValueError):
            hx._native.View(capsule)

    def test_out(self):
        a = hx.zeros((3, 4))
        self.assertEqual(a.__dlpack_device__(), (1, 0))
        self.assertEqual(address(np.from_dlpack(a)), address(a))
        self.assertEqual(address(hx.from_dlpack(a)), address(a))


class Registered(unittest.TestCase):
    def test_with_block(self):
        a, b = np.ones((200, 300), np.float32), np.ones((300, 100), np.float32)
        with hx.register(a, b.T, advice=hx.Advice.READ_MOSTLY):
            self.assertEqual(hx.matmul(a, b)[0, 0], 300)
            with self.assertRaisesRegex(hx.InvalidArgument, "overlaps|known"):
                hx.register(a)
            a[...] = 2
            hx.modified(a)
            hx.sync(a)
            self.assertEqual(hx.matmul(a, b)[0, 0], 600)
        with self.assertRaises(hx.InvalidArgument):
            hx.modified(a)
        hx.register(a).unregister()

    def test_all_or_none(self):
        a = np.ones(100, np.float32)
        with self.assertRaises(hx.InvalidArgument):
            hx.register(a, a)
        hx.register(a).unregister()

    def test_arrays_live_while_they_are_registered(self):
        class Mine(np.ndarray):
            pass

        a = np.ones(100, np.float32).view(Mine)
        gone = weakref.ref(a)
        registration = hx.register(a)
        del a
        gc.collect()
        self.assertIsNotNone(gone())
        registration.unregister()
        registration.unregister()
        gc.collect()
        self.assertIsNone(gone())

    def test_arrays_without_strides(self):
        shared = multiprocessing.RawArray("d", 10)
        hx.register(shared).unregister()
        a = (ctypes.c_float * 4)(1, 2, 3, 4)
        with hx.register(a, advice=hx.Advice.READ_MOSTLY):
            self.assertEqual(hx.sum(a), 10)

    def test_dropped_registrations_end(self):
        a = np.ones(100, np.float32)
        hx.register(a)
        gc.collect()
        hx.register(a).unregister()

    def test_advice(self):
        a = hx.zeros((100, 100))
        hx.advise(a, hx.Advice.READ_MOSTLY | hx.Advice.RESIDENT)
        hx.advise(a, 0)
        with self.assertRaises(hx.InvalidArgument):
            hx.advise(a, 64)
        with self.assertRaises(hx.InvalidArgument):
            hx.advise(np.zeros(4, np.float32), 1)


class References(unittest.TestCase):
    def test_no_call_keeps_or_loses_a_reference(self):
        a = np.ones((8, 8), np.float32)
        wrong = np.ones(8)
        out = np.empty((8, 8), np.float32)
        buffer = array.array("f", [1, 2])

        def calls():
            hx.sum(a), hx.sum(a, axis=0), hx.argmin(a.T), hx.vdot(a, a), hx.vecdot(a, a), hx.sum(a, keepdims=True)
            hx.matmul(a, a, out), hx.matmul(a[:, ::2], a[::2]), hx.matmul(a, a, out=out.T)
            hx.reduce_soa([("sum", a), ("dot", a, a)])
            hx.matmul_async(a, a, out).wait(), hx.reduce_async("sum", a).wait()
            hx.sum(buffer), hx.mean(a), hx.var(a, 0)
            with hx.register(a):
                pass
            for bad in (
                lambda: hx.sum(wrong),
                lambda: hx.matmul(a, wrong),
                lambda: hx.matmul(a, a, wrong),
                lambda: hx.matmul(a, a, a),
                lambda: hx.sum(a, axis=5),
                lambda: hx.vdot(a, a[0]),
                lambda: hx.reduce_soa([("sum", a), ("sum", a[0])]),
                lambda: hx.matmul_async(a, a, a),
                lambda: hx.reduce_async("sum", a, a),
                lambda: hx.sum(a, out=wrong),
            ):
                with self.assertRaises((TypeError, ValueError)):
                    bad()

        calls()
        before = [sys.getrefcount(o) for o in (a, wrong, out, buffer, np.float32)]
        for _ in range(50):
            calls()
        gc.collect()
        self.assertEqual([sys.getrefcount(o) for o in (a, wrong, out, buffer, np.float32)], before)
        buffer.append(3)  # BufferError if a view were still held


if __name__ == "__main__":
    unittest.main()
