"""States of every form come back as they were, under Python's checkpoints.

    python_states_test.py LIBRARY
"""
import json
import math
import os
import sys
import tempfile
import unittest
import warnings

LIBRARY = sys.argv.pop(1)
os.environ["THERMOCLINE_CHECKPOINT_LIBRARY"] = LIBRARY
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "training"))
import torch  # noqa: E402

import thermocline_checkpoint as checkpoint  # noqa: E402


def number(value):
    return torch.tensor([float(value)])


def as_lists(value):
    """Equal when two states are; tensors by their bits."""
    if isinstance(value, torch.Tensor):
        return ["tensor", str(value.dtype), list(value.shape),
                value.reshape(-1).tolist()]
    if isinstance(value, dict):
        return ["dict", [[type(key).__name__, repr(key), as_lists(one)]
                         for key, one in value.items()]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [as_lists(one) for one in value]]
    return [type(value).__name__, repr(value)]


class States(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "pool")

    def names(self, state):
        pieces, kept = checkpoint._pieces(state)
        out = [piece.name.decode() for piece in pieces]
        del kept
        return out

    def comes_back(self, state):
        pool = checkpoint.Pool(self.path, room_for=state)
        self.addCleanup(pool.close)
        pool.save(state, 7)
        step, back = pool.restore()
        self.assertEqual(step, 7)
        self.assertEqual(as_lists(back), as_lists(state))

    def test_damage_that_is_passed_over_is_told(self):
        state = {"w": torch.full((1000,), 1.0)}
        pool = checkpoint.Pool(self.path, room_for=state)
        self.addCleanup(pool.close)
        pool.save(state, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(pool.restore()[0], 1)
        mark = torch.full((1000,), 2.0)
        pool.save({"w": mark}, 2)
        with open(self.path, "r+b") as file:
            at = file.read().index(mark.numpy().tobytes())
            file.seek(at + 40)
            file.write(b"\1")
        with self.assertWarnsRegex(UserWarning,
                                   '"w" is damaged.*step 1 is the newest'):
            step, back = pool.restore()
        self.assertEqual((step, back["w"][10].item()), (1, 1.0))

    def test_two_paths_to_one_name(self):
        state = {"a.b": number(1), "a": {"b": number(2), "c": [number(3)]},
                 "a.b#2": number(4), "a.c.0": number(5)}
        self.assertEqual(self.names(state)[:2], ["a.b", "a.b#2"])
        self.comes_back(state)

    def test_keys_that_read_alike(self):
        self.comes_back({1: number(1), "1": number(2), 1.5: number(3),
                         "1.5": number(4), None: number(5), "None": number(6),
                         False: number(7), "False": number(8),
                         math.inf: number(9)})

    def test_a_tensor_alone(self):
        self.comes_back(number(3))

    def test_tensors_without_a_dict(self):
        self.comes_back([number(1), (number(2), number(3))])

    def test_keys_with_dots_and_none_at_all(self):
        self.comes_back({".": number(1), "..": number(2), ".a": number(3),
                         "a": number(4), "": number(5), "b": {"": number(6)},
                         "tensor": number(7), ".a.": {".": number(8)}})

    def test_the_name_of_the_structure(self):
        self.comes_back({checkpoint.STRUCTURE: number(1)})

    def test_keys_that_c_and_utf8_do_not_have(self):
        self.comes_back({"a\0b": number(1), "a\0c": number(2), "a": number(3),
                         "\ud800": number(4), "\ud801": number(5)})

    def test_keys_of_other_types_are_refused(self):
        for key in ((0, 1), b"a", frozenset()):
            with self.assertRaises(checkpoint.Error) as refused:
                checkpoint.Pool(self.path, room_for={"m": {key: number(1)}})
            said = str(refused.exception)
            self.assertIn(repr(key), said)
            self.assertIn("m has the key", said)
            self.assertIn("str()", said)

    def test_tensors_that_are_no_plain_numbers_are_refused(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's: they are new
            tensors = [
                ("sparse_coo", "to_dense()", torch.eye(2).to_sparse()),
                ("sparse_csr", "to_dense()", torch.eye(2).to_sparse_csr()),
                ("quantized", "dequantize()", torch.quantize_per_tensor(
                    torch.ones(2), 0.1, 0, torch.qint8)),
                ("meta", "no values", torch.ones(2, device="meta")),
                ("complex32", "view_as_real()",
                 torch.ones(2, dtype=torch.complex32))]
        for kind, remedy, tensor in tensors:
            with self.assertRaises(checkpoint.Error) as refused:
                checkpoint.Pool(self.path, room_for={"m": [tensor]})
            said = str(refused.exception)
            self.assertIn(f"m.0 is a {kind} tensor", said)
            self.assertIn(remedy, said)
        self.comes_back({"m": torch.view_as_real(tensors[-1][2])})

    def test_values_that_are_still_to_be_computed(self):
        state = [torch.tensor([1 + 2j]).conj(), torch._neg_view(number(3))]
        pool = checkpoint.Pool(self.path, room_for=state)
        self.addCleanup(pool.close)
        pool.save(state, 1)
        self.assertEqual([one.item() for one in pool.restore()[1]], [1 - 2j, -3])

    def test_schedules_with_functions_of_their_own(self):
        def made(kind):
            optimizer = torch.optim.SGD([torch.nn.Parameter(number(1))], lr=0.1,
                                        momentum=0.9)
            rates = torch.optim.lr_scheduler
            return (rates.OneCycleLR(optimizer, 0.2, total_steps=40)
                    if kind == "one" else rates.CyclicLR(optimizer, 0.01, 0.2))

        def go_on(schedule):
            out = []
            for _ in range(10):
                schedule.optimizer.step()
                schedule.step()
                out += schedule.get_last_lr()
            return out
        for kind in ("one", "cyclic"):
            schedule = made(kind)
            go_on(schedule)
            with self.assertRaises(checkpoint.Error) as refused:
                checkpoint._pieces({"schedule": schedule.state_dict()})
            self.assertIn("leave it out", str(refused.exception))
            kept = {k: v for k, v in schedule.state_dict().items()
                    if not callable(v)}  # as the error says
            path = self.path + kind
            with checkpoint.Pool(path, room_for=kept) as pool:
                pool.save(kept, 1)
                again = made(kind)
                again.load_state_dict(pool.restore()[1])
            self.assertEqual(go_on(again), go_on(schedule))

    def test_a_module_or_a_thing_says_what_to_save(self):
        for value, remedy in ((torch.nn.Linear(1, 1), "state_dict()"),
                              ({1}, "numbers, strings or tensors")):
            with self.assertRaises(checkpoint.Error) as refused:
                checkpoint._pieces({"m": value})
            self.assertIn(remedy, str(refused.exception))

    def test_names_that_are_too_long(self):
        self.comes_back({"\u00e9" * 5000: number(1), "\u00e9" * 5001: number(2)})

    def test_names_stay_as_they_were(self):
        self.assertEqual(
            self.names({"model": {"0.weight": number(1)}, "epoch": 3,
                        "list": [number(2)]}),
            ["model.0.weight", "list.0", checkpoint.STRUCTURE])

    def test_a_pool_of_before(self):
        # As they were written: a dot before each name, in the structure alone.
        before = {"dict": [["model", {"dict": [
            ["w", {"tensor": ".model.w"}]]}], ["b", {"tensor": ".b"}]]}
        back = checkpoint._unflatten(json.loads(json.dumps(before)),
                                     {"model.w": number(1), "b": number(2)})
        self.assertEqual(as_lists(back), as_lists(
            {"model": {"w": number(1)}, "b": number(2)}))


unittest.main()
