"""What goes wrong around a pool is told, and when to save what comes next.

    python_pool_test.py LIBRARY
"""
import ctypes
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import warnings

LIBRARY = sys.argv.pop(1)
os.environ["THERMOCLINE_CHECKPOINT_LIBRARY"] = LIBRARY
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "training"))
import torch  # noqa: E402

import thermocline_checkpoint as checkpoint  # noqa: E402

SMALL = {"w": torch.ones(10)}
LARGE = {"w": torch.ones(1 << 20)}


class Pools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "pool")

    def refused(self, part, work, *arguments, **named):
        with self.assertRaises(checkpoint.Error) as error:
            work(*arguments, **named)
        self.assertIn(part, str(error.exception))

    def test_a_closed_pool_says_so(self):
        pool = checkpoint.Pool(self.path, room_for=SMALL)
        pool.close()
        pool.close()
        for work in (lambda: pool.save(SMALL, 1), pool.wait, pool.restore,
                     lambda: pool.save(SMALL, 1, background=True),
                     pool.bandwidth, lambda: pool.durable, pool.__enter__,
                     lambda: checkpoint.Interval().due(pool)):
            self.refused("the pool is closed", work)
        library = pool._lib
        for work in (lambda: library.thermocline_save(None, None, 0, 1),
                     lambda: library.thermocline_save_wait(None),
                     lambda: library.thermocline_pool_durable(None),
                     lambda: library.thermocline_before_update(None)):
            self.assertEqual(work(), 0)
            self.assertIn(b"closed", library.thermocline_error())

    def test_with_closes_it(self):
        with checkpoint.Pool(self.path, room_for=SMALL) as pool:
            pool.save(SMALL, 1)
        self.refused("closed", pool.restore)
        checkpoint.Pool(self.path).close()  # nobody else has it

    def test_close_tells_what_became_of_the_last_save(self):
        pool = checkpoint.Pool(self.path, room_for=SMALL)
        pool.save(LARGE, 1, background=True)
        self.refused("larger slots", pool.close)
        pool.close()  # it is
        checkpoint.Pool(self.path).close()

    def test_at_the_end_it_goes_to_stderr(self):
        program = f"""
import sys; sys.path.insert(0, {sys.path[0]!r})
import torch, thermocline_checkpoint as checkpoint
pool = checkpoint.Pool({self.path!r}, room_for={{"w": 1}})
pool.save({{"w": torch.ones(1 << 20)}}, 1, background=True)
"""
        ran = subprocess.run([sys.executable, "-c", program], timeout=120,
                             stderr=subprocess.PIPE, text=True)
        self.assertRegex(ran.stderr, "thermocline: .*larger slots")

    def test_numbers_out_of_range_are_refused(self):
        pool = checkpoint.Pool(self.path, room_for=SMALL)
        self.addCleanup(pool.close)
        for step in (-1, 1 << 64):
            self.refused(f"step = {step}", pool.save, SMALL, step)
        self.refused("no whole number", pool.save, SMALL, 1.5)
        self.assertIsNone(pool.restore())
        pool.save(SMALL, (1 << 64) - 1)
        self.assertEqual(pool.restore()[0], (1 << 64) - 1)
        other = self.path + "2"
        self.refused("slot_bytes = -1 is", checkpoint.Pool, other, slot_bytes=-1)
        self.refused("slots = 4294967299", checkpoint.Pool, other,
                     slots=(1 << 32) + 3, slot_bytes=1 << 20)

    def test_room_for_an_optimizer_that_made_no_step_yet(self):
        model = torch.nn.Linear(1000, 1000)
        optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)

        def state():
            return {"model": model.state_dict(),
                    "optimizer": optimizer.state_dict()}
        with checkpoint.Pool(self.path, room_for=state()) as pool:
            model(torch.ones(1, 1000)).sum().backward()
            optimizer.step()
            pool.save(state(), 1)
        bytes_before = os.path.getsize(self.path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            checkpoint.Pool(self.path, room_for=state()).close()
        # Of one that did, no more is kept than it has.
        checkpoint.Pool(self.path + "2", room_for=state()).close()
        self.assertLess(os.path.getsize(self.path + "2"), bytes_before * 1.1)

    def test_a_smaller_pool_than_asked_for_says_so(self):
        checkpoint.Pool(self.path, room_for=SMALL).close()
        for named in ({"room_for": LARGE}, {"slot_bytes": 1 << 24}):
            with self.assertWarnsRegex(UserWarning, "has slots of .* bytes"):
                checkpoint.Pool(self.path, **named).close()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            checkpoint.Pool(self.path, room_for=SMALL).close()
            checkpoint.Pool(self.path).close()
            checkpoint.Pool(self.path, room_for=LARGE, read_only=True).close()

    def test_what_can_be_no_socket_is_refused(self):
        checkpoint.Pool(self.path, room_for=SMALL).close()
        there = os.path.join(self.folder, "socket")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(there)
            for good in (there, os.path.join(self.folder, "not yet")):
                checkpoint.Pool(self.path, socket=good).close()
            for bad in ("", "api.sock", self.folder, self.path,
                        os.path.join(self.folder, "a" * 108)):
                self.refused("is no socket's path", checkpoint.Pool, self.path,
                             socket=bad)
            self.refused("longer than 60 bytes", checkpoint.Pool, self.path,
                         socket=there, name="a" * 61)

    def test_what_cplusplus_saved_is_refused(self):
        pool = checkpoint.Pool(self.path, slot_bytes=1 << 20)
        self.addCleanup(pool.close)
        shape = (ctypes.c_int64 * 1)(2)
        for name, kind, part in [
                (b"options", b"bytes", "not saved from Python"),
                (b"\xff", b"bytes", "not saved from Python"),
                (checkpoint.STRUCTURE.encode(), b"bytes", "no sense")]:
            one = (checkpoint._Piece * 1)(checkpoint._Piece(
                name, kind, shape, 1, ctypes.addressof(shape), 2))
            self.assertEqual(
                pool._lib.thermocline_save(pool._pool, one, 1, 1), 1)
            self.refused(part, pool.restore)
        pieces, kept = checkpoint._pieces(SMALL)
        pieces[0].type = b"nn"
        pool._lib.thermocline_save(pool._pool, pieces, len(pieces), 1)
        self.refused("w is of type nn", pool.restore)
        del kept

    def test_saves_are_due_as_often_as_they_cost_little(self):
        with checkpoint.Pool(self.path, room_for=SMALL) as pool:
            interval = checkpoint.Interval(most_slowdown=0.5, profile=3)
            saved = []
            for step in range(40):
                time.sleep(0.002)
                if interval.due(pool):
                    saved.append(step)
                    pool.save(SMALL, step, background=step % 2 == 0)
            self.assertEqual(saved[0], 2)
            self.assertGreaterEqual(len(saved), 2)
            self.assertGreaterEqual(interval.iterations, 1)

    def test_a_save_that_failed_is_due_again(self):
        with checkpoint.Pool(self.path, room_for=SMALL) as pool:
            interval = checkpoint.Interval(profile=1)
            self.assertTrue(interval.due(pool))
            pool.save(LARGE, 1, background=True)
            with self.assertRaises(checkpoint.Error):
                for _ in range(1000):
                    self.assertFalse(interval.due(pool))
                    time.sleep(0.01)
            self.assertTrue(interval.due(pool))
            self.assertTrue(interval.due(pool))  # it was not saved
        for named in ({"most_slowdown": 0}, {"most_slowdown": float("nan")},
                      {"profile": 0}):
            self.refused("10000" if "profile" in named else "most_slowdown",
                         checkpoint.Interval, **named)

    def test_the_example_of_the_module_resumes(self):
        lines = checkpoint.__doc__.split("\n\n")
        example = "\n".join(
            one for part in lines[1:] for one in part.split("\n"))
        example = textwrap.dedent(example[:example.index("\nA save in")])
        example = example.replace("/mnt/pmem/job.pool", self.path)

        def run(steps):
            torch.manual_seed(1)
            model = torch.nn.Sequential(torch.nn.Linear(2, 8),
                                        torch.nn.Dropout(), torch.nn.Linear(8, 1))
            optimizer = torch.optim.Adam(model.parameters())

            def train(batch):
                optimizer.zero_grad()
                model(batch).pow(2).mean().backward()
                optimizer.step()
            job = {"torch": torch, "model": model, "optimizer": optimizer,
                   "data": torch.arange(200.0).reshape(100, 2), "train": train,
                   "steps": steps}
            exec(example, job)
            return job["step"], model.state_dict()
        step, whole = run(60)
        self.assertEqual(step, 60)
        os.remove(self.path)
        run(31)
        step, resumed = run(60)
        for name, tensor in whole.items():
            self.assertTrue(torch.equal(tensor, resumed[name]), name)

    def test_the_order_goes_on_where_it_was(self):
        order = checkpoint.DataOrder(10, seed=3)
        epoch = torch.cat([order.next(4) for _ in range(3)])
        self.assertEqual(sorted(epoch.tolist()), list(range(10)))
        order.next(3)
        with checkpoint.Pool(self.path, room_for=order.state_dict()) as pool:
            pool.save(order.state_dict(), 1)
            rest = [order.next(4).tolist() for _ in range(5)]
            again = checkpoint.DataOrder(10)
            again.load_state_dict(pool.restore()[1])
        self.assertEqual([again.next(4).tolist() for _ in range(5)], rest)
        self.refused("over 10 samples", checkpoint.DataOrder(9).load_state_dict,
                     order.state_dict())
        self.refused("another data set", again.load_state_dict,
                     dict(order.state_dict(), position=11))
        self.refused("samples = 0", checkpoint.DataOrder, 0)
        self.refused("count = 0", order.next, 0)


unittest.main()
