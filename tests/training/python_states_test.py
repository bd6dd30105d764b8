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
