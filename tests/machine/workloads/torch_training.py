#!/usr/bin/python3
"""Trains one of six small models, each an ordinary PyTorch program.

    torch_training.py mlp|cnn|resnet|transformer|dlrm|rnn
                      [--size MIB] [--steps N] [--batch N]

Prints a checksum of every step's loss and, last, one of them all and of the
loss on a batch that was held out, which must have fallen. The same seed gives
the same bits on the same kind of CPU.
"""
import argparse
import hashlib
import json
import os
import struct
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Mlp:
    """multilayer perceptron: classifies vectors with momentum SGD"""
    hot = ("parameters, gradients and momentum, a sixth of the memory, in every "
           "step; of the examples a few rows at random; it never changes")
    changes = False
    inputs, classes, batch = 256, 8, 4

    def __init__(self, megabytes):
        hidden = int((megabytes * (1 << 20) / 4 / 12) ** 0.5) // 2
        self.model = nn.Sequential(
            nn.Linear(self.inputs, 2 * hidden), nn.ReLU(),
            nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, self.classes))
        self.optimizers = [
            torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)]
        count = (megabytes << 20) * 3 // 4 // (4 * self.inputs)
        centres = torch.randn(self.classes, self.inputs)
        self.labels = torch.randint(self.classes, (count,))
        self.examples = torch.rand(count, self.inputs)
        for label in range(self.classes):
            self.examples[self.labels == label] += centres[label]

    def loss(self, step):
        some = torch.randint(len(self.labels), (self.batch if step >= 0 else 32,))
        return F.cross_entropy(self.model(self.examples[some]), self.labels[some])


class Residual(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outputs) for _ in range(2))
        self.short = (nn.Identity() if stride == 1 else
                      nn.Conv2d(inputs, outputs, 1, stride, bias=False))

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.short(x))


class Cnn:
    """ResNet-like convolutional network: classifies 32x32 images with SGD"""
    hot = ("parameters and activations, which each step allocates anew, 1 MiB; "
           "the images, all the rest, are read once an epoch, in order")
    changes = False
    classes, batch = 4, 8

    def __init__(self, megabytes):
        self.model = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), Residual(8, 8), Residual(8, 16),
            Residual(16, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(32, self.classes))
        self.optimizers = [
            torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)]
        count = (megabytes << 20) // (3 * 32 * 32)
        pictures = torch.randint(128, (self.classes, 3, 4, 4), dtype=torch.uint8)
        pictures = pictures.repeat_interleave(8, 2).repeat_interleave(8, 3)
        noise = torch.randint(64, (61, 3, 32, 32), dtype=torch.uint8)
        self.labels = torch.randint(self.classes, (count,))
        self.images = pictures[self.labels]
        for start in range(0, count, len(noise)):
            part = self.images[start:start + len(noise)]
            part += noise[:len(part)]

    def loss(self, step):
        count = self.batch if step >= 0 else 32
        start = step * count % (len(self.labels) - count)
        images = self.images[start:start + count].float() / 96 - 1
        return F.cross_entropy(self.model(images), self.labels[start:start + count])


class Separable(nn.Module):
    """A residual block of a depthwise and a pointwise convolution: it computes
    a tenth of what an ordinary one does, and keeps as many activations."""
    def __init__(self, inputs, outputs):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.depth = nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False)
        self.point = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)])
        self.short = (nn.Identity() if stride == 1 else
                      nn.Conv2d(inputs, outputs, 1, stride, bias=False))

    def forward(self, x):
        y = F.relu(self.norms[0](self.depth(x)))
        return F.relu(self.norms[1](self.point(y)) + self.short(x))


class Resnet:
    """ResNet-like network on large images, which its activations dwarf"""
    hot = ("activations, all but a tenth of the memory, written in the forward "
           "pass and read in the backward pass, last first; never changes")
    changes = False
    classes, batch, width, batches = 4, 8, 8, 5
    kept = 170 * width  # floats at the peak, per image and 4 x 4 pixels

    def __init__(self, megabytes):
        pixels = (megabytes << 20) / 4 / self.batch * 16 / self.kept
        side = max(16, int(pixels ** 0.5) // 16 * 16)
        w = self.width
        self.model = nn.Sequential(
            nn.Conv2d(3, w, 3, 2, 1), nn.ReLU(),
            Separable(w, w), Separable(w, w), Separable(w, 2 * w), Separable(2 * w, 2 * w),
            Separable(2 * w, 4 * w), Separable(4 * w, 4 * w),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * w, self.classes))
        self.optimizers = [
            torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)]
        self.labels = torch.randint(self.classes, (self.batches * self.batch,))
        # Brighter ones are of a higher class: a few steps are to be enough.
        pictures = (torch.randint(32, (self.classes, 3, 4, 4), dtype=torch.uint8) +
                    40 * torch.arange(self.classes, dtype=torch.uint8).view(-1, 1, 1, 1))
        pictures = pictures.repeat_interleave(side // 4, 2).repeat_interleave(side // 4, 3)
        self.images = pictures[self.labels]
        self.images += torch.randint(64, (3, side, side), dtype=torch.uint8)

    def loss(self, step):
        # The last batch is held out.
        start = (step % (self.batches - 1) if step >= 0 else self.batches - 1) * self.batch
        some = slice(start, start + self.batch)
        images = self.images[some].float() / 96 - 1
        return F.cross_entropy(self.model(images), self.labels[some])


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        length = x.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        y = self.norm1(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Transformer:
    """transformer: predicts the next word of a text, two layers, with Adam"""
    hot = ("gradients and Adam's moments of the embedding table, all of it in "
           "every step, a quarter of the memory; the text is read once, in order")
    changes = False
    width, batch, context = 64, 4, 32
    classes = 257  # what is predicted of a word is its number modulo this

    def __init__(self, megabytes):
        self.words = (megabytes << 20) // 4 // (16 * self.width)
        # A text that repeats phrases of itself, so that there is much to learn.
        phrases = torch.randint(self.words, (16, 16))
        count = (megabytes << 20) * 3 // 4 // (8 * 16)
        self.text = phrases[torch.randint(16, (count,))].flatten()
        self.embedding = nn.Embedding(self.words, self.width)
        self.place = nn.Embedding(self.context, self.width)
        self.blocks = nn.Sequential(*(Block(self.width, 4) for _ in range(2)))
        self.head = nn.Linear(self.width, self.classes)
        self.model = nn.ModuleList([self.embedding, self.place, self.blocks, self.head])
        self.optimizers = [torch.optim.Adam(self.model.parameters(), lr=3e-3)]

    def loss(self, step):
        length = self.batch * self.context
        start = step * length % (len(self.text) - length - 1)
        text = self.text[start:start + length + 1]
        x = self.embedding(text[:-1].view(self.batch, -1)) + self.place.weight
        logits = self.head(self.blocks(x)).flatten(0, 1)
        return F.cross_entropy(logits, text[1:] % self.classes)


class Dlrm:
    """DLRM-like recommender: four embedding bags and two perceptrons, with SGD"""
    hot = ("rows of the newest items: half of all lookups go to 1/256 of each "
           "table, 80 % to 1/6; the newest moves on by 1/128 of the table a step")
    changes = True
    tables, width, batch, bag = 4, 32, 128, 8

    def __init__(self, megabytes):
        self.rows = (megabytes << 20) // (4 * self.width * self.tables)
        self.bags = nn.ModuleList(
            nn.EmbeddingBag(self.rows, self.width, mode="sum", sparse=True,
                            _weight=torch.rand(self.rows, self.width) * 0.1 - 0.05)
            for _ in range(self.tables))
        self.bottom = nn.Sequential(nn.Linear(16, self.width), nn.ReLU())
        pairs = (self.tables + 1) * self.tables // 2
        self.top = nn.Sequential(
            nn.Linear(self.width + pairs, 32), nn.ReLU(), nn.Linear(32, 1))
        self.model = nn.ModuleList([self.bags, self.bottom, self.top])
        self.optimizers = [torch.optim.SGD(self.model.parameters(), lr=0.3)]

    def loss(self, step):
        dense = torch.randn(self.batch, 16)
        newest = self.rows + max(step, 0) * (self.rows // 128)
        ages = (torch.rand(self.tables, self.batch, self.bag) ** 8 * self.rows).long()
        items = newest - ages
        liked = (items % 3 == 0).float().mean((0, 2)) - 1 / 3
        clicks = (2 * liked + dense[:, 0] > 0).float()
        parts = [self.bottom(dense)]
        parts += [bag(ids % self.rows) for bag, ids in zip(self.bags, items)]
        vectors = torch.stack(parts, 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        i, j = torch.tril_indices(self.tables + 1, self.tables + 1, -1)
        logits = self.top(torch.cat([parts[0], products[:, i, j]], 1))
        return F.binary_cross_entropy_with_logits(logits[:, 0], clicks)


class Rnn:
    """recurrent network: an LSTM over sentences of very different lengths"""
    hot = ("activations, whose size is the sentence's length, 4 to 128 words, "
           "long after short; and the vocabulary of the current chapter, "
           "1/16 of the table, another every 4 steps")
    changes = True
    width, batch, chapters = 64, 4, 16

    def __init__(self, megabytes):
        self.words = (megabytes << 20) // (12 * self.width)  # with two moments
        self.embedding = nn.Embedding(
            self.words, self.width, sparse=True,
            _weight=torch.rand(self.words, self.width) - 0.5)
        # As in a table that was trained before, like words have like vectors.
        for half in self.embedding.weight.data.chunk(2 * self.chapters)[::2]:
            half += 0.2
        self.cell = nn.LSTMCell(self.width, self.width)
        self.head = nn.Linear(self.width, 2)
        self.model = nn.ModuleList([self.embedding, self.cell, self.head])
        self.optimizers = [
            torch.optim.SparseAdam(self.embedding.parameters(), lr=0.01),
            torch.optim.Adam([*self.cell.parameters(), *self.head.parameters()],
                             lr=0.01)]

    def loss(self, step):
        chapter = max(step, 0) // 4 * 5 % self.chapters
        size = self.words // self.chapters
        state = None
        losses = []
        # A word that is a multiple of 24 ends the sentence, for all of a batch.
        while len(losses) < 128:
            words = torch.randint(size, (self.batch,)) + chapter * size
            state = self.cell(self.embedding(words), state)
            losses.append(F.cross_entropy(self.head(state[0]), words * 2 // size % 2))
            if len(losses) >= 4 and words[0] % 24 == 0:
                break
        return torch.stack(losses).mean()


KINDS = {kind.__name__.lower(): kind for kind in (Mlp, Cnn, Resnet, Transformer, Dlrm, Rnn)}


def held_out(workload, seed):
    """The loss on a batch that is always the same and never trained on."""
    state = torch.get_rng_state()
    torch.manual_seed(seed + 1_000_000)
    with torch.no_grad():
        loss = workload.loss(-1).item()
    torch.set_rng_state(state)
    return loss


def train(workload, args):
    """Yields every step's loss, and what it took."""
    for step in range(args.steps):
        began = time.perf_counter()
        for optimizer in workload.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = workload.loss(step)
        loss.backward()
        for optimizer in workload.optimizers:
            optimizer.step()
        yield loss.item(), time.perf_counter() - began


def bits(number):
    return hashlib.sha256(struct.pack("<d", number)).hexdigest()[:16]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"torch_training.py: {message}; see --help\n")


def between(low, high):
    def number(text):
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text} is not in {low} to {high}")
        return int(text)
    return number


def options():
    parser = Parser(description=__doc__, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=sorted(KINDS))
    parser.add_argument("--size", type=between(4, 65536), default=128,
                        metavar="MIB", help="of data and parameters, about (128)")
    parser.add_argument("--steps", type=between(1, 1000000), default=32)
    parser.add_argument("--warm", type=between(0, 1000000), default=0, metavar="N",
                        help="steps before the one from which on is measured")
    parser.add_argument("--batch", type=between(1, 65536), metavar="N",
                        help="examples in a step (the model's own)")
    parser.add_argument("--seed", type=between(0, 1000000), default=1)
    parser.add_argument("--threads", type=between(1, 256), default=1)
    parser.add_argument("--no-check", action="store_true",
                        help="leave the result unchecked")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", action="store_true", help="with --list")
    args = parser.parse_args()
    if args.json and not args.list:
        parser.error("--json: goes with --list only")
    if args.warm >= args.steps:
        parser.error(f"--warm: {args.warm} of {args.steps} steps leave none to measure")
    if not args.list and not args.name:
        parser.error("no workload named: one of " + ", ".join(sorted(KINDS)))
    return args


def await_go():
    """Until whoever measures writes a byte into WORKLOAD_GO, or closes it."""
    if "WORKLOAD_GO" in os.environ:
        with open(os.environ["WORKLOAD_GO"], "rb", buffering=0) as fifo:
            fifo.read(1)


def show_list(as_json):
    all_ = [{"name": name, "summary": kind.__doc__, "hot": kind.hot,
             "changes": kind.changes} for name, kind in sorted(KINDS.items())]
    if as_json:
        print(json.dumps(all_, indent=2))
        return
    for one in all_:
        print(f"{one['name']:14} {one['summary']}\n{'':14} "
              f"hot{', changing' if one['changes'] else ''}: {one['hot']}")


def main():
    args = options()
    if args.list:
        return show_list(args.json)
    print(f"workload {args.name}: {args.size} MiB, {args.steps} steps, "
          f"seed {args.seed}", flush=True)
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    kind = KINDS[args.name]
    kind.batch = args.batch or kind.batch
    workload = kind(args.size)
    before = held_out(workload, args.seed)
    total = hashlib.sha256()
    print("prepared", flush=True)
    await_go()
    for step, (loss, seconds) in enumerate(train(workload, args)):
        if step + 1 == args.warm:
            print("warm", flush=True)
            await_go()
        total.update(struct.pack("<d", loss))
        print(f"step {step} checksum 0x{bits(loss)} seconds {seconds:.3f}", flush=True)
    print("done", flush=True)
    await_go()
    after = held_out(workload, args.seed)
    if not args.no_check and not after < before:
        print(f"torch_training.py: {args.name}: the loss on a batch held out "
              f"went from {before:.4f} to {after:.4f}; it should fall",
              file=sys.stderr)
        return 1
    total.update(struct.pack("<d", after))
    print(f"checksum 0x{total.hexdigest()[:16]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
