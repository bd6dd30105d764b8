"""A PyTorch job's checkpoints within the budget of a real thermoclined.

    python_budget_test.py BIN_DIRECTORY LIBRARY
"""
import json
import os
import subprocess
import sys
import tempfile

BIN = sys.argv[1]
os.environ["THERMOCLINE_CHECKPOINT_LIBRARY"] = sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "training"))
import torch  # noqa: E402

import thermocline_checkpoint as checkpoint  # noqa: E402

RATE = 8 << 20


def consumers(socket):
    asked = subprocess.run([os.path.join(BIN, "thermocline"), "query", "status",
                            "--socket", socket, "--json"], check=True,
                           stdout=subprocess.PIPE)
    return [one["name"] for one in json.loads(asked.stdout)["budget_consumers"]]


def main():
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "api.sock")
        job = subprocess.Popen(["sleep", "60"])
        read, write = os.pipe()
        daemon = subprocess.Popen(
            [os.path.join(BIN, "thermoclined"), "--pid", str(job.pid), "--mover",
             "dry", "--socket", socket, "--budget", str(RATE), "--ready-fd",
             str(write)], pass_fds=[write])
        os.close(write)
        try:
            assert os.read(read, 6) == b"ready\n"
            # More than was saved up, so that there is something to wait for.
            state = {"x": torch.ones(2 * RATE // 4)}
            pool = checkpoint.Pool(os.path.join(folder, "job.pool"),
                                   room_for=state, socket=socket,
                                   name="embeddings", weight=2)
            pool.save(state, 1)
            use = pool.bandwidth()
            assert use["alone"] == "" and use["waited_s"] > 0, use
            assert use["taken"] >= 2 * RATE, use
            names = consumers(socket)
            assert any(name.startswith(f"embeddings of {os.getpid()}")
                       for name in names), names
            # Nobody depends on it.
            daemon.kill()
            daemon.wait()
            pool.save(state, 2)
            assert pool.restore()[0] == 2
        finally:
            daemon.kill()
            job.kill()
            daemon.wait()
            job.wait()
    print(f"python_budget: saved 16 MiB, waited {use['waited_s']:.2f} s for it")


main()
