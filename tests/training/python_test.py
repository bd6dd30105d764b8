"""Trains, is interrupted, resumes: the module's example, with all that makes
a PyTorch job hard to resume. The resumed run must be the other, bit for bit.

    python_test.py LIBRARY
"""
import os
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
        refused(lambda: pool.save({"a": object()}, 1), "cannot be saved")
        refused(lambda: pool.save({"a": torch.zeros(1 << 20)}, 1),
                "larger slots")
        del first
        pool.close()

        refused(lambda: checkpoint.Pool(path, socket=""), "api.sock")
        refused(lambda: checkpoint.Pool(path, socket="x", weight=0), "weight")

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
    print("python: resumed at step 12, the last 8 losses and all weights equal")


main()
