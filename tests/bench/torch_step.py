"""Times one small training step, inside the emulated machine, with the model
of its memory off and on. The data of the step fit the modelled cache; what
still misses is the interpreter, and costs nothing but the emulator's time.
"""
import json
import subprocess
import sys
import time

import torch
from torch import nn

clock = sys.argv[1]
repeats = int(sys.argv[2])


def ask(*words):
    return json.loads(subprocess.check_output([clock, *words]))


def misses():
    return sum(tier["read_misses"] + tier["write_misses"]
               for cpu in ask("now")["cpus"] for tier in cpu["tiers"])


torch.manual_seed(1)
torch.set_num_threads(1)
layers = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
x, y = torch.randn(32, 64), torch.randn(32, 64)


def step():
    optimizer.zero_grad()
    nn.functional.mse_loss(layers(x), y).backward()
    optimizer.step()


def seconds_per_step():
    for _ in range(repeats):  # the emulator translates, caches fill
        step()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(repeats):
            step()
        times.append((time.perf_counter() - begin) / repeats)
    return sorted(times)[2]


ask("dilation", "0")
plain = seconds_per_step()
ask("model", "on")
before = misses()
modelled = seconds_per_step()
missed = (misses() - before) / (6 * repeats)
ask("model", "off")
again = seconds_per_step()
print(f"model off {plain * 1000:.2f} ms, on {modelled * 1000:.2f} ms "
      f"({missed:.0f} misses a step), off again {again * 1000:.2f} ms: "
      f"{2 * modelled / (plain + again):.2f} times as long, 4 times is the limit")
