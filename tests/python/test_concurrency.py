# SPDX-License-Identifier: Apache-2.0
"""Background tasks, threads, forks, and contexts that are closed while they are used."""
import asyncio
import gc
import os
import signal
import threading
import time
import unittest

import numpy as np
from common import rng, values

import hx

SLOW = {
    "sim": "rate=1e9,latency_us=100000",
    "devices": "sim",
    "offload": "mandatory",
    "timeout_ms": "off",
    "cache_dir": "off",
}


class Tasks(unittest.TestCase):
    def setUp(self):
        random = rng()
        self.a = random.standard_normal((120, 80)).astype(np.float32)
        self.b = random.standard_normal((80, 90)).astype(np.float32)
        self.product = hx.matmul(self.a, self.b)

    def test_results(self):
        out = np.empty((90, 120), np.float32).T
        task = hx.matmul_async(self.a, self.b, out)
        self.assertIs(task.wait(), out)
        self.assertIs(task.wait(), out)
        self.assertTrue(task.done())
        np.testing.assert_array_equal(out, self.product)
        self.assertEqual(sum(d.units for d in task.report.devices), 120 * 80 * 90)
        x = values(rng(), np.float32, 100001)
        self.assertEqual(hx.reduce_async("sum", x).wait(), hx.sum(x))
        self.assertEqual(hx.reduce_async("argmax", x[::3]).wait(), np.argmax(x[::3]))
        self.assertEqual(hx.reduce_async("dot", x, x[::-1]).wait(), hx.dot(x, x[::-1]))

    def test_many_at_once(self):
        tasks = [hx.matmul_async(self.a, self.b) for _ in range(40)]
        for task in reversed(tasks):
            np.testing.assert_array_equal(task.wait(), self.product)

    def test_done_before_and_after(self):
        with hx.Context(**SLOW) as c:
            task = hx.reduce_async("sum", np.ones(1 << 20, np.float32), context=c)
            self.assertFalse(task.done())
            self.assertEqual(task.wait(), 1 << 20)
            self.assertTrue(task.done())

    def test_arrays_live_until_the_end(self):
        c = hx.Context(**SLOW)
        task = hx.reduce_async("sum", np.full(1 << 20, 2, np.float32), context=c)
        c.close()
        gc.collect()
        self.assertEqual(task.wait(), 1 << 21)

    def test_dropped_tasks_are_waited_for(self):
        out = np.zeros((120, 90), np.float32)
        hx.matmul_async(self.a, self.b, out)
        gc.collect()
        np.testing.assert_array_equal(out, self.product)

    def test_several_threads_wait(self):
        with hx.Context(**SLOW) as c:
            task = hx.reduce_async("sum", np.ones(1 << 20, np.float32), context=c)
            results = []
            threads = [threading.Thread(target=lambda: results.append(task.wait())) for _ in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(results, [1 << 20] * 5)

    def test_wrong_arguments_raise_at_once_and_failures_in_wait(self):
        with self.assertRaises(hx.InvalidArgument):
            hx.matmul_async(self.a, self.a)
        c = hx.Context(sim="rate=1e9,fail=enqueue@1", devices="sim", offload="mandatory", cache_dir="off")
        task = hx.reduce_async("sum", np.ones(1 << 20, np.float32), context=c)
        for _ in range(2):
            with self.assertRaises(hx.DeviceFailed) as caught:
                task.wait()
            self.assertTrue(caught.exception.detail)

    def test_await(self):
        async def both():
            return await asyncio.gather(*(self.awaited(i) for i in range(4)))

        for i, result in enumerate(asyncio.run(both())):
            np.testing.assert_array_equal(result, self.product * i)

    def test_await_leaves_the_threads_of_asyncio_alone(self):
        async def beside():
            await asyncio.gather(*(hx.matmul_async(self.a, self.b) for _ in range(20)))
            return asyncio.get_running_loop()._default_executor

        self.assertIsNone(asyncio.run(beside()))

    async def awaited(self, i):
        return await hx.matmul_async(self.a, self.b * np.float32(i)) if i != 3 else self.product * 3


class Threads(unittest.TestCase):
    def test_calls_of_several_threads(self):
        random = rng()
        a, b = (random.integers(-9, 9, (70, 70)).astype(np.float32) for _ in range(2))
        x = values(random, np.float32, 50000)
        right = a @ b, hx.sum(x), hx.sum(a, axis=0)
        wrong = []

        def work():
            for _ in range(100):
                got = hx.matmul(a, b), hx.sum(x), hx.sum(a, axis=0)
                if not all(np.array_equal(g, r) for g, r in zip(got, right)):
                    wrong.append(got)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_other_threads_run_during_a_call(self):
        count, seen, ended = 0, [], threading.Event()
        x = np.ones(100, np.float32)

        def call():
            with hx.Context(**{**SLOW, "sim": "rate=1e9,latency_us=300000"}) as c:
                before = count
                hx.sum(x, context=c)  # small, and yet slow
                seen.append(count - before)
            ended.set()

        thread = threading.Thread(target=call)
        thread.start()
        while not ended.is_set():
            count += 1
            time.sleep(0.001)
        thread.join()
        # With the GIL held there would be a turn before the call and one after it, however long it takes.
        self.assertGreater(seen[0], 3)

    def test_overlapping_blocks_of_reports(self):
        first, second = hx.reports(), hx.reports()
        a = np.ones(1000, np.float32)
        one = first.__enter__()
        two = second.__enter__()
        first.__exit__(None, None, None)
        hx.sum(a)
        second.__exit__(None, None, None)
        hx.sum(a)  # in no list, also if the lists are freed
        self.assertEqual((len(one), len(two)), (0, 1))
        with hx.reports() as three:
            hx.sum(a)
        self.assertEqual(len(three), 1)

    def test_reports_are_of_one_thread(self):
        x = np.ones(1000, np.float32)
        with hx.reports() as mine:
            thread = threading.Thread(target=lambda: hx.sum(x))
            thread.start()
            thread.join()
            hx.sum(x)
            with hx.reports() as inner:
                hx.sum(x), hx.sum(x)
        self.assertEqual((len(mine), len(inner)), (1, 2))
        self.assertEqual(mine[0].devices[0].units, 1000)

    def test_a_context_is_closed_while_another_thread_uses_it(self):
        c = hx.Context(**SLOW)
        results = []
        x = np.ones(1 << 20, np.float32)
        begun = threading.Event()

        def call():
            begun.set()
            try:
                results.append(hx.sum(x, context=c))
            except hx.InvalidArgument as error:  # closed before the call began
                results.append(str(error))

        thread = threading.Thread(target=call)
        thread.start()
        begun.wait()
        c.close()
        thread.join()
        self.assertIn(results, ([1 << 20], ["the context is closed"]))


class Forks(unittest.TestCase):
    def test_a_child_goes_on(self):
        x = values(rng(), np.float32, 100001)
        a = np.ones((90, 90), np.float32)
        right = hx.sum(x)
        hx.matmul_async(a, a).wait()
        task = hx.matmul_async(a, a)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                ok = hx.sum(x) == right and (hx.matmul(a, a) == 90).all() and hx.zeros(10).sum() == 0
                status = 0 if ok else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue((task.wait() == 90).all())

    def test_a_child_waits_for_no_thread_of_its_parent(self):
        with hx.Context(**SLOW) as c:
            task = hx.reduce_async("sum", np.ones(1 << 20, np.float32), context=c)
            waiter = threading.Thread(target=task.wait)
            waiter.start()
            time.sleep(0.05)  # the thread waits by now; if not, nothing is tested
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    signal.alarm(20)
                    status = 3 if not task.done() else 0 if task.wait() == 1 << 20 else 2
                except hx.Unsupported:
                    status = 0
                finally:
                    os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            waiter.join()
            self.assertEqual(task.wait(), 1 << 20)


class Contexts(unittest.TestCase):
    def test_settings(self):
        with hx.Context(devices=["cpu"], threads=1, split=0.25, cache_dir="off") as c:
            self.assertFalse(c.closed)
            self.assertEqual(hx.sum(np.ones(10, np.float32), context=c), 10)
        self.assertTrue(c.closed)
        c.close()
        for call in (hx.devices, hx.ready):
            with self.assertRaisesRegex(hx.InvalidArgument, "closed"):
                call(c)

    def test_devices(self):
        with hx.Context(sim="rate=1e9;profile=xe", devices="cpu,sim", cache_dir="off") as c:
            hx.ready(c)
            rows = hx.devices(c)
            self.assertEqual((rows[0].index, rows[0].kind, rows[0].state), (0, "cpu", "usable"))
            self.assertEqual([d.kind for d in rows].count("sim"), 2)
        self.assertIs(hx.default_context(), hx.default_context())
        self.assertEqual(hx.devices()[0].kind, "cpu")


if __name__ == "__main__":
    unittest.main()
