"""Checkpoints of PyTorch jobs, through libthermocline_checkpoint.so.

    import thermocline_checkpoint as checkpoint

    def state():
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "rng": torch.get_rng_state(), "epoch": epoch}

    pool = checkpoint.Pool("/mnt/pmem/job.pool", room_for=state())
    found = pool.restore()
    if found:
        step, saved = found
        model.load_state_dict(saved["model"])
        ...
    pool.save(state(), step)                   # durable on return
    pool.save(state(), step, background=True)  # returns after a copy in memory

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

An optimizer keeps nothing before its first step: make the pool after it, or
give slot_bytes. The library is looked for in $THERMOCLINE_CHECKPOINT_LIBRARY,
then in build/release/lib beside this folder, then where it is installed.
"""
import ctypes
import functools
import json
import os
import stat
import sys
import types
import warnings
import weakref

import torch

STRUCTURE = "(structure)"


class Error(Exception):
    """What the library says: one line that names the thing and the remedy."""


class _Use(ctypes.Structure):
    _fields_ = [("taken", ctypes.c_uint64), ("waited_s", ctypes.c_double),
                ("alone", ctypes.c_char_p)]


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
    for name, result, arguments in [
            ("error", ctypes.c_char_p, []),
            ("slot_bytes", u64, [pieces, size]),
            ("pool_create", pool, [ctypes.c_char_p, u64, ctypes.c_int]),
            ("pool_open", pool, [ctypes.c_char_p, ctypes.c_int]),
            ("pool_close", None, [pool]),
            ("pool_durable", ctypes.c_int, [pool]),
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
            ("restore", ctypes.c_int,
             [pool, ctypes.POINTER(u64), ctypes.POINTER(size)]),
            ("piece_at", ctypes.c_int, [pool, size, pieces])]:
        function = getattr(library, "thermocline_" + name)
        function.restype = result
        function.argtypes = arguments
    return library


def _free_name(name, taken):
    """A name that the library takes and no other piece has."""
    name = name.encode(errors="replace").decode().replace("\0", "?") or "tensor"
    out, again = name, 1
    while out in taken or out == STRUCTURE:
        again += 1
        out = f"{name}#{again}"
    return out


def _flatten(value, name, tensors):
    """The value as JSON; its tensors go to `tensors` by name."""
    def inside(key, one):
        return _flatten(one, f"{name}.{key}" if name else str(key), tensors)

    if isinstance(value, torch.Tensor):
        name = _free_name(name, tensors)
        tensors[name] = value.detach().cpu().contiguous()
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
                "cannot be saved")


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
        """
        self._lib = _library()
        self._pool = None
        self._optimizers = []
        self._copying = None  # what the save under way still reads
        file = os.fsencode(path)
        # A device is there before there is a pool on it.
        there = os.path.exists(path)
        device = there and stat.S_ISCHR(os.stat(path).st_mode)
        if there or read_only:
            self._pool = self._lib.thermocline_pool_open(file, not read_only)
        if not self._pool and not read_only and (not there or device):
            if room_for is not None:
                pieces, kept = _pieces(room_for)
                needed = self._lib.thermocline_slot_bytes(pieces, len(pieces))
                del kept
                # Numbers may grow by some digits.
                slot_bytes = max(slot_bytes, needed + 65536)
            self._pool = self._lib.thermocline_pool_create(file, slot_bytes,
                                                           slots)
        if not self._pool:
            self._fail()
        # At the interpreter's end, too, and before it can no longer be asked
        # what was written.
        self._end = weakref.finalize(self, self._lib.thermocline_pool_close,
                                     self._pool)
        if socket is not None and not self._lib.thermocline_pool_share(
                self._pool, os.fsencode(socket), name.encode(), weight):
            self._fail()

    def _fail(self):
        raise Error(self._lib.thermocline_error().decode(errors="replace"))

    @property
    def durable(self):
        """Whether what is saved is known to survive a power cut: on DAX and on a
        disk's own file system, not on tmpfs, overlayfs, NFS or FUSE."""
        return self._lib.thermocline_pool_durable(self._pool) == 1

    def bandwidth(self):
        """What saves took of the daemon's budget: {"taken": bytes, "waited_s",
        "alone": why nobody shares out, "" while one does}. None without a
        socket."""
        use = _Use()
        if not self._lib.thermocline_pool_use(self._pool, ctypes.byref(use)):
            return None
        return {"taken": use.taken, "waited_s": use.waited_s,
                "alone": use.alone.decode(errors="replace")}

    def save(self, state, step, background=False):
        """Saves; in the background, an error comes out of the next call."""
        pieces, kept = _pieces(state)
        if background and self._optimizers:
            self._begin_beside(pieces, kept, step)
            return
        save = (self._lib.thermocline_save_begin if background else
                self._lib.thermocline_save)
        if not save(self._pool, pieces, len(pieces), step):
            self._fail()
        del kept

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
        done = self._lib.thermocline_save_wait(self._pool)
        self._copying = None
        if not done:
            self._fail()

    def restore(self):
        """(step, state) of the newest whole checkpoint; None without one. Warns
        when damage was passed over: it may not be the last that was saved."""
        step, count = ctypes.c_uint64(), ctypes.c_size_t()
        found = self._lib.thermocline_restore(self._pool, ctypes.byref(step),
                                              ctypes.byref(count))
        if found < 0:
            self._fail()
        if found == 0:
            return None
        damage = self._lib.thermocline_error().decode(errors="replace")
        if damage:
            warnings.warn(damage, stacklevel=2)
        tensors, structure = {}, None
        piece = _Piece()
        for i in range(count.value):
            self._lib.thermocline_piece_at(self._pool, i, ctypes.byref(piece))
            name = piece.name.decode()
            if name == STRUCTURE:
                structure = ctypes.string_at(piece.bytes, piece.size)
                continue
            tensor = torch.empty([piece.shape[d] for d in
                                  range(piece.dimensions)],
                                 dtype=getattr(torch, piece.type.decode()))
            if tensor.numel() * tensor.element_size() != piece.size:
                raise Error(f"{name} has not the size that its shape takes")
            if piece.size:
                ctypes.memmove(tensor.data_ptr(), piece.bytes, piece.size)
            tensors[name] = tensor
        if structure is None:
            raise Error("the checkpoint was not saved from Python")
        return step.value, _unflatten(json.loads(structure), tensors)

    def close(self):
        """Waits for a save under way."""
        self._pool = None
        self._end()
