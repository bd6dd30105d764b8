# Tiny jobs for the observer's tests:
#   train           five steps with Adam; each loss as its exact bits
#   family PROGRAM  threads, a forked child, and PROGRAM
#   loader          a DataLoader with two forked workers
#   graph FILE      three training steps; PyTorch's own observer writes FILE
#   overhead        prints the nanoseconds of one small operator
#   step            prints the nanoseconds of one training step
#   batched         the same of one that multiplies 128 pairs of matrices, which
#                   LibTorch without MKL does pair by pair
import os
import subprocess
import sys
import threading
import time

import torch

torch.manual_seed(7)
torch.set_num_threads(1)


def tell(loss):
    print("loss", loss.hex(), flush=True)


def train(steps, started=lambda: None, scale=1, report=tell):
    model = torch.nn.Sequential(
        torch.nn.Linear(32 * scale, 64 * scale), torch.nn.ReLU(),
        torch.nn.Linear(64 * scale, 8 * scale))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(16 * scale, 32 * scale)
    y = torch.randint(0, 8 * scale, (16 * scale,))
    started()
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.profiler.record_function("first_layer"):
            hidden = model[1](model[0](x))
        loss = torch.nn.functional.cross_entropy(model[2](hidden), y)
        loss.backward()
        optimizer.step()
        report(loss.item())


def multiply():
    a = torch.randn(64, 64)
    for _ in range(200):
        a = (a @ a).tanh()


def family(program):
    threads = [threading.Thread(target=multiply) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        for _ in range(50):
            torch.ones(1000).xlogy_(2)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    subprocess.check_call([program])
    torch.ones(10).mul_(2)


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((100,), float(i)).square_()


def loader():
    batches = torch.utils.data.DataLoader(
        Squares(), batch_size=8, num_workers=2, multiprocessing_context="fork")
    print("sum", sum(batch.sum().item() for batch in batches))


def graph(path):
    observer = torch.profiler.ExecutionGraphObserver()
    observer.register_callback(path)
    def started():
        torch.ones(1).digamma_()  # from here on
        observer.start()

    train(3, started, scale=8)
    observer.stop()
    observer.unregister_callback()


def batched(steps, report):
    layer = torch.nn.Linear(32, 32)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(128, 5, 32)
    for _ in range(steps):
        optimizer.zero_grad()
        y = layer(x)
        loss = torch.bmm(y, y.transpose(1, 2)).square().mean()
        loss.backward()
        optimizer.step()
        report(loss.item())


def step(steps):
    times = [time.process_time()]
    steps(lambda loss: times.append(time.process_time()))
    best = min(b - a for a, b in zip(times[20:], times[21:]))
    print("one step: %.0f ns" % (best * 1e9))


def overhead():
    a = torch.ones(4)
    b = torch.ones(4)
    best = 1e9
    for _ in range(20):
        start = time.process_time()
        for _ in range(5000):
            a.add_(b)
        best = min(best, time.process_time() - start)
    print("add_ of 4 floats: %.0f ns" % (best / 5000 * 1e9))


what = sys.argv[1]
if what == "train":
    train(5)
elif what == "family":
    family(sys.argv[2])
elif what == "loader":
    loader()
elif what == "graph":
    graph(sys.argv[2])
elif what == "overhead":
    overhead()
elif what == "step":
    step(lambda report: train(60, scale=6, report=report))
elif what == "batched":
    step(lambda report: batched(100, report))
