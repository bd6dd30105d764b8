"""Trains, is interrupted, resumes: the module's example, with all that makes
a PyTorch job hard to resume. The resumed run must be the other, bit for bit.

    python_test.py LIBRARY
"""
import ctypes
import os
import subprocess
import sys
import tempfile

os.environ["THERMOCLINE_CHECKPOINT_LIBRARY"] = sys.argv[1]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "training"))
import torch  # noqa: E402

import thermocline_checkpoint as checkpoint  # noqa: E402

torch.set_num_threads(1)


class Job:
    def __init__(self):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(),
            torch.nn.Dropout(0.3), torch.nn.Linear(16, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer,
                                                               0.99)

    def step(self):
        data = torch.randn(20, 8)
        self.optimizer.zero_grad()
        loss = (self.model(data) - data.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def state(self):
        return {"model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
                "rng": torch.get_rng_state()}

    def load(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["rng"])


def refused(work, part):
    try:
        work()
    except checkpoint.Error as error:
        assert part in str(error), error
        return
    raise AssertionError("was not refused")


def beside(path, losses, schedule_first):
    """As main(), with the copy beside the training, of a loop that knows nothing
    of it."""
    job = Job()
    if not schedule_first:  # which wraps step() when it is made
        job.schedule = None
    assert job.optimizer.state_dict()["state"] == {}
    pool = checkpoint.Pool(path, slot_bytes=1 << 20)
    pool.beside(job.optimizer)
    if not schedule_first:
        job.schedule = torch.optim.lr_scheduler.ExponentialLR(job.optimizer, 0.99)
    for step in range(13):
        if step > 0:
            pool.save(job.state(), step, background=True)
        assert job.step() == losses[step]
    pool.wait()
    step, state = pool.restore()
    assert step == 12, step
    other = Job()
    other.load(state)
    assert [other.step() for _ in range(step, 20)] == losses[step:]

    # Every part that an optimizer owns is left for later, and no other.
    pieces, kept = checkpoint._pieces(job.state())
    owned = checkpoint._owned([job.optimizer])
    late = {piece.name.decode() for piece in pieces if piece.bytes in owned}
    assert {"model.0.weight", "model.1.bias", "optimizer.state.0.exp_avg",
            "optimizer.state.5.exp_avg_sq"} <= late, late
    assert not any("running" in name or "rng" in name for name in late), late
    assert all(name.startswith(("model.", "optimizer.state.")) for name in late)

    # Written before the copy was made: never committed, and told.
    no = checkpoint._Unchanged(lambda _: 0)
    steady = (ctypes.c_uint8 * len(pieces))(1)
    assert pool._lib.thermocline_save_begin_beside(
        pool._pool, pieces, len(pieces), steady, no, None, 99)
    refused(pool.wait, "before_update()")
    assert pool.restore()[0] == 12
    # Nobody said that the update comes.
    pool.save(job.state(), 13, background=True)
    refused(lambda: pool.save(job.state(), 14, background=True),
            "before_update()")
    pool.save(job.state(), 14, background=True)
    pool.before_update()
    pool.wait()
    del kept
    pool.close()
    assert pool.before_update() == 0
    job.step()  # goes on without a pool


def ends_at_once(path):
    """A job whose interpreter ends while its save is under way."""
    program = f"""
import sys; sys.path.insert(0, {sys.path[0]!r})
import torch, thermocline_checkpoint as checkpoint
weight = torch.nn.Parameter(torch.full((1 << 22,), 7.0))
optimizer = torch.optim.SGD([weight], lr=1)
pool = checkpoint.Pool({path!r}, room_for={{"weight": weight}})
pool.beside(optimizer)
pool.save({{"weight": weight}}, 1, background=True)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    step, state = checkpoint.Pool(path).restore()
    assert step == 1 and torch.equal(state["weight"],
                                     torch.full((1 << 22,), 7.0))


def main():
    whole = Job()
    losses = [whole.step() for _ in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.pool")
        first = Job()
        assert [first.step() for _ in range(9)] == losses[:9]
        pool = checkpoint.Pool(path, room_for=first.state())
        assert pool.restore() is None
        for step in range(9, 13):
            pool.save(first.state(), step, background=step % 2 == 0)
            assert first.step() == losses[step]
        pool.wait()
        assert pool.bandwidth() is None
        refused(lambda: checkpoint.Pool(path), "in use")
        looker = checkpoint.Pool(path, read_only=True)
        step, seen = looker.restore()
        assert step == 12
        pool.save(first.state(), 13)
        assert looker.restore()[0] == 13
        assert torch.equal(seen["rng"], pool.restore()[1]["rng"]) is False
        refused(lambda: looker.save(first.state(), 14), "opened to read")
        refused(lambda: checkpoint.Pool(path + "s", read_only=True), path + "s")
        del looker
        pool.save(seen, 12)  # as it was
        refused(lambda: pool.save({"a": object()}, 1), "cannot be saved")
        refused(lambda: pool.save({"a": torch.zeros(1 << 20)}, 1),
                "larger slots")
        del first
        pool.close()

        refused(lambda: checkpoint.Pool(path, socket=""), "api.sock")
        refused(lambda: checkpoint.Pool(path, socket="/x", weight=0), "weight")

        second = Job()
        nobody = os.path.join(folder, "nobody.sock")
        pool = checkpoint.Pool(path, socket=nobody)
        step, state = pool.restore()
        assert step == 12, step
        second.load(state)
        assert [second.step() for _ in range(step, 20)] == losses[step:]
        for name, tensor in whole.model.state_dict().items():
            assert torch.equal(tensor, second.model.state_dict()[name]), name
        pool.save(second.state(), 20)  # nobody shares out: at full speed
        assert nobody in pool.bandwidth()["alone"], pool.bandwidth()
        pool.close()
        for schedule_first in (True, False):
            beside(os.path.join(folder, f"beside{schedule_first}"), losses,
                   schedule_first)
        ends_at_once(os.path.join(folder, "ends"))
    print("python: resumed at step 12, the last 8 losses and all weights equal; "
          "so when copied beside the training")


main()
