#!/usr/bin/python3
"""Trains one of seven small models for a few steps, to be recorded:

    step_jobs.py unet|vae|gpt|mixer|dense|lstm|autoencoder [WIDTH] [STEPS]

Unlike tests/machine/workloads/torch_training.py, whose models are sized by
their memory, these are chosen for their steps: skipped connections, recurrent
cells, concatenations and six kinds of optimizers. Step plans are judged on them
(step_table).
"""
import sys

import torch
from torch import nn
from torch.nn import functional as F


def images(count, size):
    return torch.randn(count, 3, size, size)


class Unet(nn.Module):
    """convolutions down and up again, with what was skipped put beside"""
    optimizer = torch.optim.Adam

    def __init__(self, width):
        super().__init__()
        c = 8 * width
        self.down = nn.ModuleList([nn.Conv2d(3, c, 3, 1, 1),
                                   nn.Conv2d(c, 2 * c, 3, 2, 1),
                                   nn.Conv2d(2 * c, 4 * c, 3, 2, 1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * c, 2 * c, 2, 2),
                                 nn.ConvTranspose2d(4 * c, c, 2, 2)])
        self.out = nn.Conv2d(2 * c, 3, 3, 1, 1)

    def loss(self):
        x = images(4, 64)
        skipped = []
        for layer in self.down:
            x = F.relu(layer(x))
            skipped.append(x)
        for layer, skip in zip(self.up, skipped[-2::-1]):
            x = torch.cat([F.relu(layer(x)), skip], 1)
        return F.mse_loss(self.out(x), images(4, 64))


class Vae(nn.Module):
    """a variational autoencoder of linear layers"""
    optimizer = torch.optim.AdamW

    def __init__(self, width):
        super().__init__()
        h = 256 * width
        self.encode = nn.Sequential(nn.Linear(784, h), nn.ReLU(),
                                    nn.Linear(h, h), nn.ReLU())
        self.mean, self.spread = nn.Linear(h, 32), nn.Linear(h, 32)
        self.decode = nn.Sequential(nn.Linear(32, h), nn.ReLU(),
                                    nn.Linear(h, h), nn.ReLU(),
                                    nn.Linear(h, 784))

    def loss(self):
        x = torch.rand(64, 784)
        hidden = self.encode(x)
        mean, spread = self.mean(hidden), self.spread(hidden)
        z = mean + torch.randn_like(spread) * torch.exp(spread / 2)
        divergence = (mean * mean + spread.exp() - spread - 1).mean()
        return F.mse_loss(self.decode(z), x) + 1e-3 * divergence


class Gpt(nn.Module):
    """four transformer blocks over tokens"""
    optimizer = torch.optim.Adam
    tokens = 512

    def __init__(self, width):
        super().__init__()
        w = 64 * width
        self.embed = nn.Embedding(self.tokens, w)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(w, 4, 4 * w, 0.0, batch_first=True)
            for _ in range(4))
        self.out = nn.Linear(w, self.tokens)

    def loss(self):
        text = torch.randint(self.tokens, (4, 65))
        x = self.embed(text[:, :-1])
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.out(x).flatten(0, 1),
                               text[:, 1:].flatten())


class Mixer(nn.Module):
    """linear layers over patches and over channels by turns"""
    optimizer = torch.optim.SGD
    patches = 49

    def __init__(self, width):
        super().__init__()
        self.width = w = 64 * width
        p = self.patches
        self.blocks = nn.ModuleList(
            nn.ModuleList([nn.LayerNorm(w), nn.Linear(p, 2 * p),
                           nn.Linear(2 * p, p), nn.LayerNorm(w),
                           nn.Linear(w, 2 * w), nn.Linear(2 * w, w)])
            for _ in range(4))
        self.out = nn.Linear(w, 10)

    def loss(self):
        x = torch.randn(16, self.patches, self.width)
        for norm, up, down, other, wide, narrow in self.blocks:
            x = x + down(F.gelu(up(norm(x).transpose(1, 2)))).transpose(1, 2)
            x = x + narrow(F.gelu(wide(other(x))))
        return F.cross_entropy(self.out(x.mean(1)), torch.randint(10, (16,)))


class Dense(nn.Module):
    """convolutions of which each sees all before it"""
    optimizer = torch.optim.SGD
    layers = 8

    def __init__(self, width):
        super().__init__()
        c = 8 * width
        self.convolutions = nn.ModuleList(
            nn.Conv2d(3 + i * c, c, 3, 1, 1) for i in range(self.layers))
        self.norms = nn.ModuleList(
            nn.BatchNorm2d(c) for _ in range(self.layers))
        self.out = nn.Linear(3 + self.layers * c, 10)

    def loss(self):
        x = images(8, 32)
        for convolution, norm in zip(self.convolutions, self.norms):
            x = torch.cat([x, F.relu(norm(convolution(x)))], 1)
        return F.cross_entropy(self.out(x.mean((2, 3))),
                               torch.randint(10, (8,)))


class Lstm(nn.Module):
    """a recurrent cell, sixteen times a step"""
    optimizer = torch.optim.RMSprop
    tokens = 256

    def __init__(self, width):
        super().__init__()
        self.width = w = 128 * width
        self.embed = nn.Embedding(self.tokens, w)
        self.cell = nn.LSTMCell(w, w)
        self.out = nn.Linear(w, self.tokens)

    def loss(self):
        text = torch.randint(self.tokens, (8, 17))
        state = (torch.zeros(8, self.width), torch.zeros(8, self.width))
        outputs = []
        for t in range(16):
            state = self.cell(self.embed(text[:, t]), state)
            outputs.append(state[0])
        return F.cross_entropy(self.out(torch.stack(outputs, 1)).flatten(0, 1),
                               text[:, 1:].flatten())


class Autoencoder(nn.Module):
    """strided convolutions, down and up"""
    optimizer = torch.optim.Adagrad

    def __init__(self, width):
        super().__init__()
        c = 16 * width
        self.layers = nn.Sequential(
            nn.Conv2d(3, c, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(c, 2 * c, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(2 * c, c, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(c, 3, 4, 2, 1))

    def loss(self):
        return F.mse_loss(self.layers(images(8, 64)), images(8, 64))


MODELS = {"unet": Unet, "vae": Vae, "gpt": Gpt, "mixer": Mixer, "dense": Dense,
          "lstm": Lstm, "autoencoder": Autoencoder}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in MODELS:
        sys.exit(__doc__)
    width = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = MODELS[sys.argv[1]](width)
    momentum = {"momentum": 0.9} if model.optimizer is torch.optim.SGD else {}
    optimizer = model.optimizer(model.parameters(), lr=0.01, **momentum)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.loss()
        loss.backward()
        optimizer.step()
    print(float(loss))


if __name__ == "__main__":
    main()
