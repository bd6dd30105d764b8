"""The demo's figures: the footprint, the largest tensor, the table."""
import csv
import json
import pathlib
import statistics
import sys


def files():
    """The files among the mappings on standard input (CSV), each once."""
    seen = dict.fromkeys(field for line in sys.stdin
                         for field in line.rstrip("\n").split(",")
                         if field.startswith("/") and pathlib.Path(field).is_file())
    print("\n".join(seen))


def tensor():
    """The serial of the largest tensor, of those the longest-lived (CSV on stdin)."""
    def size_and_life(row):
        died = int(row["died_ns"] or -1)
        return int(row["bytes"]), (died if died >= 0 else 1 << 62) - int(row["born_ns"])
    print(max(csv.DictReader(sys.stdin), key=size_and_life)["serial"])


def half(report):
    """Half of the job's footprint: its anonymous memory at the peak."""
    print(json.loads(pathlib.Path(report).read_text())["peak_private_bytes"] // 2)


RUNS = ["all_slow", "first_touch", "learned", "all_fast"]


def steps_of(log):
    """(step and loss, seconds by the job's own clock) of each step."""
    return [(loss, float(seconds)) for loss, _, seconds in
            (line.partition(" seconds ") for line in log.splitlines()
             if line.startswith("step "))]


def table(results):
    runs = {}
    for run in RUNS:
        at = pathlib.Path(results) / run
        report = json.loads((at / f"{run}.json").read_text())
        steps = steps_of((at / f"{run}.log").read_text())
        row = {"wall": sum(seconds for _, seconds in steps[:-1]),
               "loss": [loss for loss, _ in steps],
               "at_last": statistics.median(seconds for _, seconds in steps[-4:-1])}
        if (at / f"{run}.before").exists():
            before, after = (json.loads((at / f"{run}.{when}").read_text())["cpus"][0]["busy_ns"]
                             for when in ("before", "after"))
            row["virtual"] = (after - before) * 1e-9
        if "daemon" in report:
            row["moved_bytes"] = report["daemon"]["moves"]["moved_bytes"]
            row["cpu_share"] = report["daemon"]["daemon"]["cpu_share"]
        runs[run] = row
    emulated = "virtual" in runs["all_slow"]
    print(f"{'run':<12} " + (f"{'virtual clock':>14} " if emulated else "")
          + f"{'guest clock' if emulated else 'time':>12} {'a step at last':>15} "
          + f"{'moved':>11} {'daemon CPU':>11}")
    for run, row in runs.items():
        moved = f"{row['moved_bytes'] / 2**20:.1f} MiB" if "moved_bytes" in row else "-"
        share = f"{100 * row['cpu_share']:.1f} %" if "cpu_share" in row else "-"
        print(f"{run:<12} " + (f"{row['virtual']:>12.3f} s " if emulated else "")
              + f"{row['wall']:>10.1f} s {row['at_last']:>13.2f} s {moved:>11} {share:>11}")

    def closed(clock):
        gap = runs["first_touch"][clock] - runs["all_fast"][clock]
        return 100 * (runs["first_touch"][clock] - runs["learned"][clock]) / gap

    shares = ", ".join(f"{closed(clock):.0f} % by the {name}" for clock, name in
                       ([("virtual", "virtual clock"), ("wall", "guest clock")] if emulated
                        else [("wall", "wall clock")]))
    shares += f" ({closed('at_last'):.0f} % in its last three steps)"
    same = all(row["loss"] == runs["all_slow"]["loss"] and row["loss"] for row in runs.values())
    steps = len(runs["all_slow"]["loss"])
    if not same:
        print("the losses differ between the runs", file=sys.stderr)
        sys.exit(1)
    print(f"all {steps} losses are the same, bit for bit, in all four runs; the last step, "
          "in which questions are asked, is not measured")
    print(f"{'emulated: ' if emulated else ''}the learned policy closed {shares} "
          "of the gap between first_touch and all_fast")


if __name__ == "__main__":
    {"files": files, "tensor": tensor, "half": half, "table": table}[sys.argv[1]](*sys.argv[2:])
