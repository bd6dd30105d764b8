#!/usr/bin/env python3
"""Trains a small transformer language model on the Python library's own text.

An ordinary PyTorch program: byte-level, with hashed n-gram embeddings (as in
Pagnoni and others, "Byte Latent Transformer", arXiv 2412.09871, section 3.2.1)
and Adam. It prints the loss of every step as a hexadecimal float, so that two
runs can be compared bit for bit.
"""
import argparse
import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def corpus(megabytes):
    """The text of the Python library, in the order of its file names."""
    library = pathlib.Path(argparse.__file__).parent
    text = bytearray()
    for path in sorted(library.glob("*.py")) + sorted(library.glob("*/*.py")):
        text += path.read_bytes()
        if len(text) >= megabytes << 20:
            break
    return torch.frombuffer(text[:megabytes << 20], dtype=torch.uint8).long()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, time_, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(
            batch, time_, 3, self.heads, width // self.heads).unbind(2)
        scores = torch.einsum("bthd,bshd->bhts", q, k) / (width // self.heads) ** 0.5
        mask = torch.ones(time_, time_, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        mixed = torch.einsum("bhts,bshd->bthd", weights, v).reshape(x.shape)
        x = x + self.out(mixed)
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, width, layers, rows, context):
        super().__init__()
        self.rows = rows
        self.byte = nn.Embedding(256, width)
        self.place = nn.Embedding(context, width)
        self.ngram = nn.ModuleList(nn.Embedding(rows, width) for _ in range(2))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 256)

    def forward(self, tokens):
        x = self.byte(tokens) + self.place.weight[:tokens.shape[1]]
        hashed = tokens
        for table in self.ngram:
            hashed = (hashed * 257 + F.pad(tokens, (1, 0))[:, :-1]) % self.rows
            x = x + table(hashed)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=32768, help="rows of each n-gram table")
    parser.add_argument("--context", type=int, default=32)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--text", type=int, default=12, help="MiB of text")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    tokens = corpus(args.text)
    model = Model(args.width, args.layers, args.rows, args.context)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    count = sum(p.numel() for p in model.parameters())
    print(f"{count} parameters, {len(tokens)} tokens", flush=True)

    for step in range(args.steps):
        began = time.perf_counter()
        starts = torch.randint(len(tokens) - args.context - 1, (args.batch,))
        text = torch.stack([tokens[s:s + args.context + 1] for s in starts])
        logits = model(text[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item().hex()} "
              f"seconds {time.perf_counter() - began:.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
