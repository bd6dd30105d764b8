"""Uses the memory of tensors in every way that an allocator must get right,
while tensors are being placed. Prints "all right", or what is wrong.
  aggregated_job.py views | threads | fork
"""
import multiprocessing
import os
import sys
import threading

import torch

torch.manual_seed(3)
torch.set_num_threads(1)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def iterate():
    optimizer.zero_grad()
    model(torch.randn(32, 64)).pow(2).mean().backward()
    optimizer.step()


def check(right, what):
    if not right:
        print("wrong:", what)
        os._exit(1)


def views():
    kept = []
    for i in range(12):
        optimizer.zero_grad()
        hidden = model[0](torch.randn(32, 64))
        part = hidden[3:5].detach()  # a view outlives its tensor
        expect = part.clone()
        again = torch.arange(100.)
        again.resize_(50_000)[100:].fill_(i)  # moves, and keeps the beginning
        check(again[99] == 99 and again[49_999] == i, "resize_")
        again.resize_(10)
        check(torch.equal(again, torch.arange(10.)), "resize_ to less")
        empty = torch.empty(0)
        check(empty.data_ptr() == 0 and empty.storage().size() == 0, "no bytes")
        for count in (1, 3, 1000, 5000, 3_000_000):
            other = torch.full((count,), float(i))
            check(other.data_ptr() % 64 == 0, "alignment")
            shared = other.numpy()
            del other
            check((shared == i).all(), "numpy has it")
            kept.append((i, torch.from_numpy(shared[:1000])))
        storage = torch.empty(300).storage()
        storage.fill_(i)
        check(torch.tensor(storage).eq(i).all(), "storage")
        model[2](model[1](hidden)).pow(2).mean().backward()
        optimizer.step()
        del hidden
        check(torch.equal(part, expect), "view")
    check(all((tensor == i).all() for i, tensor in kept), "kept")


def threads():
    for _ in range(6):
        iterate()
    handed = [[] for _ in range(4)]

    def work(mine, others):
        for i in range(400):
            tensor = torch.full((i * 37 % 9000 + 1,), float(i))
            others.append((i, (tensor @ tensor.new_ones(len(tensor))), tensor))
            if len(mine) > 20:  # of another thread, freed here
                i, _, tensor = mine.pop(0)
                check((tensor == i).all(), "of another thread")

    all_ = [threading.Thread(target=work, args=(handed[i], handed[i - 1]))
            for i in range(4)]
    for thread in all_:
        thread.start()
    for _ in range(20):
        iterate()
    for thread in all_:
        thread.join()
    for some in handed:
        check(all((tensor == i).all() for i, _, tensor in some), "left")


def fork():
    for _ in range(6):
        iterate()
    before = [p.detach().clone() for p in model.parameters()]

    def make_tensors(count):
        # Not with products: OpenBLAS ends its threads at a fork, and hangs.
        return [torch.full((n % 999 + 1,), 1.).add_(n).tanh()
                for n in range(count)]

    # LibTorch looks an operator up at its first call, under a guard that the
    # child of a fork in the middle of it would wait for without end.
    make_tensors(1)
    busy = threading.Thread(target=make_tensors, args=(20_000,))
    other = torch.randn(1000)
    expect = other.clone()
    for i in range(8):
        if i == 4:
            busy.start()  # forks in the middle of it
        child = os.fork()
        if child == 0:
            check(torch.equal(other, expect), "inherited")
            other.fill_(-1)
            for size in range(1, 60_000, 1000):
                check((torch.full((size,), 2.) == 2).all(), "of the child")
            os._exit(0)
        check(os.waitpid(child, 0)[1] == 0, "child")
    busy.join()
    check(torch.equal(other, expect), "parent's own")
    iterate()
    check(not torch.equal(before[0], next(model.parameters())), "trained on")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        got = pool.map(torch.sqrt, [torch.full((100,), 4.) for _ in range(8)])
    check(all((tensor == 2).all() for tensor in got), "shared memory")


{"views": views, "threads": threads, "fork": fork}[sys.argv[1]]()
print("all right")
