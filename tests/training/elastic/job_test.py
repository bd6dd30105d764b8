"""A worker is killed, one joins, the job is interrupted and started again: the
loss of every step must be that of a run that nothing happened to, bit for bit,
and a death may cost at most the steps between two checkpoints.

    job_test.py BIN_DIRECTORY
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

BIN = sys.argv[1]
STEPS, EVERY = 60, 10
MPIRUN = ("mpirun --oversubscribe --mca btl_tcp_if_include lo "
          "--mca oob_tcp_if_include lo")
os.environ.update(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def fail(why, *more):
    sys.exit("job_test: " + " ".join(str(one) for one in (why,) + more))


def example(*words):
    return [BIN + "/elastic_example", "--steps", str(STEPS), *words]


def losses(text):
    """[(step, loss)], the loss to the last bit."""
    return [(int(step), loss) for step, loss in
            re.findall(r"^step (\d+) loss \S+ (\S+)$", text, re.M)]


class Run:
    """What one mpirun printed."""

    def __init__(self, number, ranks, begin):
        self.number, self.ranks, self.begin = number, ranks, begin
        self.pids, self.losses = {}, []


class Job:
    """`thermocline job run`, line by line."""

    def __init__(self, folder, workers):
        self.socket = folder + "/job.sock"
        self.log = open(folder + "/log", "w+")
        self.runs = []
        self.process = subprocess.Popen(
            [BIN + "/thermocline", "job", "run", "-n", str(workers),
             "--socket", self.socket, "--mpirun", MPIRUN, "--",
             *example("--every", str(EVERY), "--pace-ms", "10",
                      "--pool", folder + "/pool")],
            stdout=subprocess.PIPE, stderr=self.log, text=True)

    def lines_until(self, done):
        """Reads until done(current run), or to the end."""
        for line in self.process.stdout:
            found = re.match(r"run (\d+): rank (\d+) of (\d+), pid (\d+), "
                             r"from step (\d+)$", line)
            if found:
                run, rank, ranks, pid, begin = map(int, found.groups())
                if not self.runs or self.runs[-1].number != run:
                    self.runs.append(Run(run, ranks, begin))
                self.runs[-1].pids[rank] = pid
            else:
                self.runs[-1].losses += losses(line)
            if self.runs and done(self.runs[-1]):
                return
        if done is not never:
            fail("the job ended early:", self.told())

    def at(self, run, step):
        self.lines_until(lambda now: now.number == run and now.losses and
                         now.losses[-1][0] >= step and
                         len(now.pids) == now.ranks)
        return self.runs[-1]

    def ask(self, *words):
        asked = subprocess.run(
            [BIN + "/thermocline", "job", *words, "--socket", self.socket,
             "--json"], capture_output=True, text=True)
        if asked.returncode != 0:
            fail(words, asked.stderr)
        return json.loads(asked.stdout)

    def end(self):
        self.lines_until(never)
        return self.process.wait(timeout=60)

    def told(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read()


def never(_):
    return False


def without_mpirun():
    """Open MPI is not there: one line that says what to install."""
    with tempfile.TemporaryDirectory(prefix="thermocline-job-") as folder:
        run = subprocess.run([BIN + "/thermocline", "job", "run", "--socket",
                              folder + "/job.sock", "--", "/bin/true"],
                             env={"PATH": folder}, capture_output=True,
                             text=True)
    if (run.returncode != 1 or run.stderr.count("\n") != 1 or
            "install openmpi-bin" not in run.stderr):
        fail("without mpirun:", run.returncode, run.stderr)


def main():
    without_mpirun()
    alone = subprocess.run(example("--ranks", "1"), capture_output=True,
                           text=True)
    if alone.returncode != 0:
        fail(alone.stderr)
    reference = dict(losses(alone.stdout))
    if len(reference) != STEPS:
        fail("steps are missing without any trouble")

    with tempfile.TemporaryDirectory(prefix="thermocline-job-") as folder:
        job = Job(folder, 2)
        # A worker is killed.
        os.kill(job.at(run=1, step=17).pids[1], signal.SIGKILL)
        # One joins while the second run is on its way.
        job.at(run=2, step=25)
        if job.ask("join")["workers"] != 3:
            fail("nobody joined")
        # The job is interrupted, and started again with one worker.
        job.at(run=3, step=35)
        status = job.ask("status")
        if (status["run"], status["workers"], status["deaths"]) != (3, 3, 1):
            fail("the status is wrong:", status)
        job.process.send_signal(signal.SIGINT)
        if job.end() != 130:
            fail("interrupted, it should end with 130:", job.told())
        again = Job(folder, 1)
        if again.end() != 0:
            fail("it did not go on:", again.told())

    runs = job.runs + again.runs
    if [run.ranks for run in runs] != [2, 2, 3, 1]:
        fail("other workers than asked for:", [run.ranks for run in runs])
    for before, after in zip(runs, runs[1:]):
        lost = before.losses[-1][0] - after.begin
        killed = before is runs[0]
        if lost > (EVERY if killed else 0):
            fail("between runs", lost, "steps were lost")
    seen = {}
    for run in runs:
        for step, loss in run.losses:
            if loss != reference[step]:
                fail("run", run.number, "step", step, "loss", loss, "and not",
                     reference[step])
            seen[step] = loss
    if len(seen) != STEPS:
        fail("steps are missing")
    print(f"job_test: {len(runs)} runs, the same {STEPS} losses, bit for bit; "
          f"the kill cost {runs[0].losses[-1][0] - runs[1].begin} steps")


main()
