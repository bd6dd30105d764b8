"""Checkpoints of PyTorch jobs, through libthermocline_checkpoint.so.

    import thermocline_checkpoint as checkpoint

    order = checkpoint.DataOrder(len(data), seed=1)  # which samples come next

    def state():
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "order": order.state_dict(), "rng": torch.get_rng_state()}

    pool = checkpoint.Pool("/mnt/pmem/job.pool", room_for=state())
    interval = checkpoint.Interval()  # by default: saves cost 3 % at most
    step, found = 0, pool.restore()
    if found:
        step, saved = found
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        order.load_state_dict(saved["order"])
        torch.set_rng_state(saved["rng"])
    while step < steps:
        train(data[order.next(32)])
        step += 1
        if interval.due(pool):  # at the end of each iteration
            pool.save(state(), step, background=True)
    pool.save(state(), step)  # durable on return
    pool.close()              # or `with checkpoint.Pool(...) as pool:`

A save in the background returns after a copy in memory. An error of it comes
out of the next call; close() waits for it and raises it, too.

The copy, too, is made beside the training, once the pool knows whose step()
writes what is large:

    pool.beside(optimizer)                     # once; the loop stays as it is

Then a save in the background copies at once what no optimizer owns (batch norm's
statistics, the generator, numbers), and parameters and the optimizers' state
while the next forward and backward run; step() waits for what is left of it. A
write to them elsewhere is found by PyTorch's own count of writes, and fails the
save; one through .data is not counted: call pool.before_update() before it.

A state is made of dicts, lists, tuples, numbers, strings, None and tensors, as
state_dict() gives; keys of dicts are str, int, float, bool or None. Tensors are
saved as they lie in memory, named by their keys ("model.0.weight"; a name that
is taken gets "#2"); the rest as JSON. Nothing is pickled, so that a pool from
elsewhere can be read without fear.

With a thermoclined on the machine, share its budget, as C++ does (bandwidth.h):

    pool = checkpoint.Pool("/mnt/pmem/job.pool", room_for=state(),
                           socket="/run/thermocline/api.sock")

Saves then ask it before they copy. Where none is, they go on at full speed:
pool.bandwidth() says so.

Another process may look at what a job saves, beside it or where it may not write:

    step, saved = checkpoint.Pool("/mnt/pmem/job.pool", read_only=True).restore()

An optimizer keeps nothing before its first step: until then `room_for` adds
what Adam may keep, three times all tensors of the state. The library is looked
for in $THERMOCLINE_CHECKPOINT_LIBRARY, then in build/release/lib beside this
folder, then where it is installed.
"""
import ctypes
import functools
import json
import math
import operator
import os
import stat
import sys
import time
import types
import warnings
import weakref

import torch

STRUCTURE = "(structure)"
_LONGEST_NAME = 4000  # bytes; the library takes 4096

# What C++, too, can restore and export.
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16,
          torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
          torch.bool, torch.complex64, torch.complex128)


class Error(Exception):
    """What the library says: one line that names the thing and the remedy."""


class _Use(ctypes.Structure):
    _fields_ = [("taken", ctypes.c_uint64), ("waited_s", ctypes.c_double),
                ("alone", ctypes.c_char_p)]


class _State(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint64), ("epoch", ctypes.c_uint64),
                ("position", ctypes.c_uint64)]


class _Piece(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("dimensions", ctypes.c_size_t), ("bytes", ctypes.c_void_p),
                ("size", ctypes.c_uint64)]


_Unchanged = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def _library():
    here = os.path.dirname(os.path.abspath(__file__))
    name = "libthermocline_checkpoint.so.0"
    path = os.environ.get("THERMOCLINE_CHECKPOINT_LIBRARY")
    if path is None:
        built = os.path.join(here, "..", "build", "release", "lib", name)
        installed = os.path.join(here, "..", "..", name)
        there = [each for each in (built, installed) if os.path.exists(each)]
        path = there[0] if there else name  # the loader's own places
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Error(f"cannot load {path}: {error}; build it with ./bootstrap "
                    "build, or set THERMOCLINE_CHECKPOINT_LIBRARY") from None
    pieces = ctypes.POINTER(_Piece)
    pool, size, u64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
    interval = order = ctypes.c_void_p
    i64, double = ctypes.c_int64, ctypes.c_double
    seconds = ctypes.POINTER(double)
    for name, result, arguments in [
            ("error", ctypes.c_char_p, []),
            ("slot_bytes", u64, [pieces, size]),
            ("pool_create", pool, [ctypes.c_char_p, u64, ctypes.c_int]),
            ("pool_open", pool, [ctypes.c_char_p, ctypes.c_int]),
            ("pool_close", None, [pool]),
            ("pool_durable", ctypes.c_int, [pool]),
            ("pool_slot_bytes", u64, [pool]),
            ("pool_share", ctypes.c_int,
             [pool, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_double]),
            ("pool_use", ctypes.c_int, [pool, ctypes.POINTER(_Use)]),
            ("save", ctypes.c_int, [pool, pieces, size, u64]),
            ("save_begin", ctypes.c_int, [pool, pieces, size, u64]),
            ("save_begin_beside", ctypes.c_int,
             [pool, pieces, size, ctypes.POINTER(ctypes.c_uint8), _Unchanged,
              ctypes.c_void_p, u64]),
            ("before_update", ctypes.c_double, [pool]),
            ("save_wait", ctypes.c_int, [pool]),
            ("save_finished", ctypes.c_int, [pool, seconds, seconds]),
            ("restore", ctypes.c_int,
             [pool, ctypes.POINTER(u64), ctypes.POINTER(size)]),
            ("piece_at", ctypes.c_int, [pool, size, pieces]),
            ("interval_make", interval, [double, i64]),
            ("interval_free", None, [interval]),
            ("interval_after", ctypes.c_int, [interval, double]),
            ("interval_saved", None, [interval, double, double]),
            ("interval_failed", None, [interval]),
            ("interval_iterations", i64, [interval]),
            ("order_make", order, [u64, u64]),
            ("order_free", None, [order]),
            ("order_next", u64,
             [order, u64, ctypes.POINTER(ctypes.POINTER(u64))]),
            ("order_tell", _State, [order]),
            ("order_resume", ctypes.c_int, [order, _State])]:
        function = getattr(library, "thermocline_" + name)
        function.restype = result
        function.argtypes = arguments
    return library


def _fail(library):
    raise Error(library.thermocline_error().decode(errors="replace"))


def _whole(what, value, least, most):
    """The value as a number that the library's own type holds."""
    try:
        value = operator.index(value)
    except TypeError:
        raise Error(f"{what} = {value!r} is no whole number") from None
    if not least <= value <= most:
        raise Error(f"{what} = {value} is outside [{least}, {most}]")
    return value


def _free_name(name, taken):
    """A name that the library takes and no other piece has."""
    name = name.encode(errors="replace")[:_LONGEST_NAME].decode(errors="ignore")
    name = name.replace("\0", "?") or "tensor"
    out, again = name, 1
    while out in taken or out == STRUCTURE:
        again += 1
        out = f"{name}#{again}"
    return out


def _bytes_of(tensor, name):
    """The tensor as it lies in memory. What is no plain run of numbers there is
    refused."""
    kind = remedy = None
    if tensor.is_quantized:
        kind, remedy = "quantized", "save its dequantize(), or int_repr()"
    elif getattr(tensor, "is_nested", False):
        kind, remedy = "nested", "save the list that its unbind() gives"
    elif tensor.layout != torch.strided:
        kind = str(tensor.layout).replace("torch.", "")
        remedy = "save its to_dense(), or its parts"
    elif tensor.is_meta:
        kind, remedy = "meta", "it has no values: save it when it has"
    elif tensor.dtype not in _TYPES:
        kind = str(tensor.dtype).replace("torch.", "")
        remedy = ("save torch.view_as_real() of it" if tensor.is_complex() else
                  "save its view(torch.uint8)")
    if kind:
        raise Error(f"{name} is a {kind} tensor, which cannot be saved; "
                    f"{remedy}")
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()


def _remedy(value):
    if hasattr(value, "state_dict"):
        return "save its state_dict()"
    if callable(value):  # a schedule's function
        return ("leave it out, as {k: v for k, v in schedule.state_dict()."
                "items() if not callable(v)}: load_state_dict() keeps the "
                "schedule's own")
    return "save what it is made of, as numbers, strings or tensors"


def _flatten(value, name, tensors):
    """The value as JSON; its tensors go to `tensors` by name."""
    def inside(key, one):
        return _flatten(one, f"{name}.{key}" if name else str(key), tensors)

    if isinstance(value, torch.Tensor):
        plain = _bytes_of(value, name or "the state")
        name = _free_name(name, tensors)
        tensors[name] = plain
        return {"tensor": name}
    if isinstance(value, dict):
        for key in value:
            if not (key is None or isinstance(key, (str, int, float))):
                raise Error(
                    f"{name or 'the state'} has the key {key!r}, a "
                    f"{type(key).__name__}; keys are saved that are str, int, "
                    "float, bool or None: use str() of it")
        return {"dict": [[key, inside(key, one)] for key, one in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [inside(i, one) for i, one in enumerate(value)]}
    if isinstance(value, float):
        return {"float": value.hex()}
    if value is None or isinstance(value, (bool, int, str)):
        return {"value": value}
    raise Error(f"{name or 'the state'} is a {type(value).__name__}, which "
                f"cannot be saved; {_remedy(value)}")


def _unflatten(node, tensors):
    kind, value = next(iter(node.items()))
    if kind == "tensor":
        # Pools of before have names without the dots that they began with.
        return tensors[value if value in tensors else value.lstrip(".")]
    if kind == "dict":
        return {key: _unflatten(one, tensors) for key, one in value}
    if kind in ("list", "tuple"):
        out = [_unflatten(one, tensors) for one in value]
        return tuple(out) if kind == "tuple" else out
    return float.fromhex(value) if kind == "float" else value


def _tensor(name, piece):
    """A copy of it."""
    kind = piece.type.decode(errors="replace")
    dtype = getattr(torch, kind, None)
    if not isinstance(dtype, torch.dtype):
        raise Error(f"{name} is of type {kind}, which this PyTorch has not; "
                    "restore it with the one that saved it")
    shape = [piece.shape[d] for d in range(piece.dimensions)]
    size = torch.empty((), dtype=dtype).element_size()
    if min(shape, default=0) < 0 or math.prod(shape) * size != piece.size:
        raise Error(f"{name} has not the size that its shape takes")
    tensor = torch.empty(shape, dtype=dtype)
    if piece.size:
        ctypes.memmove(tensor.data_ptr(), piece.bytes, piece.size)
    return tensor


def _pieces(state):
    """The C array, and what must live as long as it."""
    tensors = {}
    structure = json.dumps(_flatten(state, "", tensors)).encode()
    out = (_Piece * (len(tensors) + 1))()
    kept = [tensors, structure]
    for i, (name, tensor) in enumerate(tensors.items()):
        shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
        kept.append(shape)
        out[i] = _Piece(name.encode(),
                        str(tensor.dtype).replace("torch.", "").encode(), shape,
                        tensor.dim(), tensor.data_ptr(),
                        tensor.numel() * tensor.element_size())
    buffer = ctypes.create_string_buffer(structure, len(structure))
    kept.append(buffer)
    out[len(tensors)] = _Piece(STRUCTURE.encode(), b"bytes", None, 0,
                               ctypes.addressof(buffer), len(structure))
    return out, kept


def _before_first_step(state):
    """Whether an optimizer in it will keep more than it does now."""
    if isinstance(state, dict):
        groups, kept = state.get("param_groups"), state.get("state")
        if isinstance(groups, list) and isinstance(kept, dict):
            return len(kept) < sum(len(one["params"]) for one in groups)
        state = list(state.values())
    return isinstance(state, (list, tuple)) and any(map(_before_first_step,
                                                        state))


def _end(library, pool):
    """Where nobody closes the pool: its last error has nowhere else to go."""
    if not library.thermocline_save_wait(pool):
        print("thermocline: " +
              library.thermocline_error().decode(errors="replace"),
              file=sys.stderr)
    library.thermocline_pool_close(pool)


def _owned(optimizers):
    """What they alone write, by its address: parameters and their own state."""
    out = {}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                kept = optimizer.state.get(parameter, {})
                for tensor in [parameter, *kept.values()]:
                    if isinstance(tensor, torch.Tensor) and tensor.numel():
                        out[tensor.data_ptr()] = tensor
    return out


def _call_before_step(optimizer, work):
    if hasattr(optimizer, "register_step_pre_hook"):  # PyTorch 2
        optimizer.register_step_pre_hook(lambda *_: work())
        return
    step = optimizer.step

    # A method, as learning rate schedules expect that wrap it in their turn.
    @functools.wraps(step)
    def step_after(_, *arguments, **named):
        work()
        return step(*arguments, **named)
    optimizer.step = types.MethodType(step_after, optimizer)


class Pool:
    """A pool of checkpoints. One thread at a time."""

    def __init__(self, path, room_for=None, slots=3, slot_bytes=0, socket=None,
                 name="checkpoints", weight=1.0, read_only=False):
        """Opens the pool, or makes one with room for a state like that.

        `read_only`: to restore from it alone, also while a job saves into it.
        `socket`: of the thermoclined that shares out the machine's bandwidth,
        where saves are consumer `name`, with `weight` (moves of pages have 1).
        Warns when the pool that is there has smaller slots than asked for.
        """
        self._lib = _library()
        self._pool = None
        self._optimizers = []
        self._copying = None  # what the save under way still reads
        self._saving = False  # in the background, not told yet
        self._done = None     # (held, full) of a save that was not
        slots = _whole("slots", slots, 2, 64)
        slot_bytes = _whole("slot_bytes", slot_bytes, 0, 1 << 62)
        file = os.fsencode(path)
        # A device is there before there is a pool on it.
        there = os.path.exists(path)
        device = there and stat.S_ISCHR(os.stat(path).st_mode)
        if there or read_only:
            self._pool = self._lib.thermocline_pool_open(file, not read_only)
        needed = slot_bytes
        if room_for is not None and not read_only:
            pieces, kept = _pieces(room_for)
            needed = max(needed, self._lib.thermocline_slot_bytes(pieces,
                                                                  len(pieces)))
            # Numbers may grow by some digits.
            slot_bytes = max(slot_bytes, needed + 65536)
            if _before_first_step(room_for):
                slot_bytes += sum(3 * piece.size + 8192 for piece in pieces)
            del kept
        if not self._pool and not read_only and (not there or device):
            self._pool = self._lib.thermocline_pool_create(file, slot_bytes,
                                                           slots)
        if not self._pool:
            self._fail()
        # At the interpreter's end, too, and before it can no longer be asked
        # what was written.
        self._end = weakref.finalize(self, _end, self._lib, self._pool)
        there = self._lib.thermocline_pool_slot_bytes(self._pool)
        if there < needed and not read_only:
            warnings.warn(
                f"{os.fsdecode(path)} has slots of {there} bytes, and {needed} "
                "are asked for: larger states cannot be saved; restore, then "
                "make a new pool at another path", stacklevel=2)
        if socket is not None and not self._lib.thermocline_pool_share(
                self._pool, os.fsencode(socket), name.encode(), weight):
            try:
                self._fail()
            finally:
                self._end()

    def _fail(self):
        _fail(self._lib)

    def _opened(self):
        if self._pool is None:
            raise Error("the pool is closed; open it again")
        return self._pool

    def __enter__(self):
        self._opened()
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def durable(self):
        """Whether what is saved is known to survive a power cut: on DAX and on a
        disk's own file system, not on tmpfs, overlayfs, NFS or FUSE."""
        return self._lib.thermocline_pool_durable(self._opened()) == 1

    def bandwidth(self):
        """What saves took of the daemon's budget: {"taken": bytes, "waited_s",
        "alone": why nobody shares out, "" while one does}. None without a
        socket."""
        use = _Use()
        if not self._lib.thermocline_pool_use(self._opened(),
                                              ctypes.byref(use)):
            return None
        return {"taken": use.taken, "waited_s": use.waited_s,
                "alone": use.alone.decode(errors="replace")}

    def save(self, state, step, background=False):
        """Saves; in the background, an error comes out of the next call."""
        begun = time.monotonic()
        pool, step = self._opened(), _whole("step", step, 0, (1 << 64) - 1)
        pieces, kept = _pieces(state)
        self._saving = False
        if background and self._optimizers:
            self._begin_beside(pieces, kept, step)
            self._saving = True
            return
        save = (self._lib.thermocline_save_begin if background else
                self._lib.thermocline_save)
        if not save(pool, pieces, len(pieces), step):
            self._fail()
        del kept
        self._saving = background
        if not background:
            took = time.monotonic() - begun
            self._done = took, took

    def _begin_beside(self, pieces, kept, step):
        owned = _owned(self._optimizers)
        steady = (ctypes.c_uint8 * len(pieces))()
        watched = []
        for i, piece in enumerate(pieces):
            tensor = owned.get(piece.bytes)
            if (tensor is None or piece.size !=
                    tensor.numel() * tensor.element_size()):
                continue
            steady[i] = 1
            watched.append((piece.name, tensor, tensor._version))

        def unchanged(_):
            for name, tensor, version in watched:
                if tensor._version != version:
                    print(f"thermocline: {name.decode()} was written while it "
                          "was saved", file=sys.stderr)
                    return 0
            return 1
        asked = _Unchanged(unchanged)
        if not self._lib.thermocline_save_begin_beside(
                self._pool, pieces, len(pieces), steady, asked, None, step):
            self._fail()
        self._copying = asked, kept

    def beside(self, *optimizers):
        """Saves in the background from here on copy what these own beside the
        training; their step() waits for the copy."""
        pool = weakref.ref(self)

        def before():
            there = pool()
            if there is not None:
                there.before_update()
        for optimizer in optimizers:
            _call_before_step(optimizer, before)
            self._optimizers.append(optimizer)

    def before_update(self):
        """Call before what the optimizers own is written elsewhere than in their
        step(). Returns the seconds that it waited."""
        if self._pool is None:
            return 0.0
        waited = self._lib.thermocline_before_update(self._pool)
        self._copying = None
        return waited

    def wait(self):
        """Waits until a save in the background is durable."""
        done = self._lib.thermocline_save_wait(self._opened())
        self._copying = None
        self._saving = False
        if not done:
            self._fail()

    def _finished(self):
        """(held, full) in seconds of the last save that is durable, once each;
        None without one. Does not wait."""
        if self._done:
            done, self._done = self._done, None
            return done
        held, full = ctypes.c_double(), ctypes.c_double()
        told = self._lib.thermocline_save_finished(
            self._opened(), ctypes.byref(held), ctypes.byref(full))
        if told == 0:
            return None
        self._saving = False
        if told < 0:
            self._fail()
        return held.value, full.value

    def restore(self):
        """(step, state) of the newest whole checkpoint; None without one. Warns
        when damage was passed over: it may not be the last that was saved."""
        step, count = ctypes.c_uint64(), ctypes.c_size_t()
        found = self._lib.thermocline_restore(
            self._opened(), ctypes.byref(step), ctypes.byref(count))
        self._saving = False  # it was waited for
        if found < 0:
            self._fail()
        if found == 0:
            return None
        damage = self._lib.thermocline_error().decode(errors="replace")
        if damage:
            warnings.warn(damage, stacklevel=2)
        tensors, structure = {}, None
        for name, piece in self._restored(count.value):
            if name == STRUCTURE:
                structure = ctypes.string_at(piece.bytes, piece.size)
        if structure is None:
            raise Error("the checkpoint was not saved from Python; restore it "
                        "in C++, or write it for torch.load: thermocline "
                        "checkpoint export")
        for name, piece in self._restored(count.value):
            if name != STRUCTURE:
                tensors[name] = _tensor(name, piece)
        try:
            return step.value, _unflatten(json.loads(structure), tensors)
        except (ValueError, LookupError, TypeError) as error:
            raise Error(f"the checkpoint's {STRUCTURE} makes no sense: "
                        f"{error!r}") from None

    def _restored(self, count):
        """Names and pieces of what restore() found."""
        for i in range(count):
            piece = _Piece()
            self._lib.thermocline_piece_at(self._pool, i, ctypes.byref(piece))
            yield piece.name.decode(errors="replace"), piece

    def close(self):
        """Waits for a save under way and raises its error; the pool is closed
        all the same."""
        if self._pool is None:
            return
        try:
            self.wait()
        finally:
            self._pool = None
            self._end()


class Interval:
    """When to save: as often as costs no more than `most_slowdown` of the
    training's time, found out by measuring `profile` iterations without saves,
    and then each save (checkpoint_interval.h)."""

    def __init__(self, most_slowdown=0.03, profile=20):
        self._lib = _library()
        self._interval = self._lib.thermocline_interval_make(
            most_slowdown, _whole("profile", profile, 1, 10000))
        if not self._interval:
            _fail(self._lib)
        weakref.finalize(self, self._lib.thermocline_interval_free,
                         self._interval)
        self._last = time.monotonic()

    def due(self, pool):
        """Call at the end of each iteration: whether to save now. Raises the
        error of a save in the background; one is due again then."""
        last, self._last = self._last, time.monotonic()
        try:
            done = pool._finished()
        except Error:
            self._lib.thermocline_interval_failed(self._interval)
            raise
        if done:
            self._lib.thermocline_interval_saved(self._interval, *done)
        elif not pool._saving:  # it was due, and came to nothing
            self._lib.thermocline_interval_failed(self._interval)
        due = self._lib.thermocline_interval_after(self._interval,
                                                   self._last - last)
        return due == 1

    @property
    def iterations(self):
        """From one save to the next; 0 while that is not known."""
        return self._lib.thermocline_interval_iterations(self._interval)


class DataOrder:
    """Which samples come next: each epoch all of them, in another order, which
    follows from the seed and the epoch's number (data_order.h). The same as in
    C++. Ask in the training itself: the workers of a DataLoader run ahead."""

    def __init__(self, samples, seed=0):
        self._lib = _library()
        self._samples = _whole("samples", samples, 1, 1 << 40)
        self._order = self._lib.thermocline_order_make(
            self._samples, _whole("seed", seed, 0, (1 << 64) - 1))
        if not self._order:
            _fail(self._lib)
        weakref.finalize(self, self._lib.thermocline_order_free, self._order)

    def next(self, count):
        """The indexes of the next samples; fewer where the epoch ends."""
        at = ctypes.POINTER(ctypes.c_uint64)()
        found = self._lib.thermocline_order_next(
            self._order, _whole("count", count, 1, (1 << 64) - 1),
            ctypes.byref(at))
        if not found:
            _fail(self._lib)
        out = torch.empty(found, dtype=torch.int64)
        ctypes.memmove(out.data_ptr(), at, 8 * found)
        return out

    def state_dict(self):
        state = self._lib.thermocline_order_tell(self._order)
        return {"samples": self._samples, "seed": state.seed,
                "epoch": state.epoch, "position": state.position}

    def load_state_dict(self, state):
        if state["samples"] != self._samples:
            raise Error(f"the order was over {state['samples']} samples, and "
                        f"there are {self._samples}: give it the same data")
        if not self._lib.thermocline_order_resume(
                self._order, _State(state["seed"], state["epoch"],
                                    state["position"])):
            _fail(self._lib)
