"""thermocline.py, and the ten lines of OPERATION.md, against a real thermoclined
and a real trace.

    python_test.py BIN_DIRECTORY
"""
import json
import os
import re
import shutil
import socket as sockets
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "daemon"))
import thermocline  # noqa: E402

BIN = sys.argv[1]
TRACE = os.path.join(HERE, "..", "..", "traces", "samples", "small.trace")
thermocline.PROGRAM = os.path.join(BIN, "thermocline")


def refused(call, kind, word):
    try:
        call()
    except kind as error:
        assert word in str(error), error
        return error
    raise AssertionError(f"{word}: not refused")


def asks_and_hears(folder):
    socket = os.path.join(folder, "api.sock")
    job = subprocess.Popen(["sleep", "60"])
    daemon = subprocess.Popen(
        [os.path.join(BIN, "thermoclined"), "--pid", str(job.pid), "--mover",
         "dry", "--interval", "50", "--socket", socket])
    try:
        with thermocline.Daemon(socket, timeout_s=20) as client:
            assert client.ask("status")["targets"] == [job.pid]
            error = refused(lambda: client.ask("nonsense"),
                            thermocline.Refused, "nonsense")
            assert error.code in ("invalid", "unsupported", "not_found"), error.code
            assert client.ask("version")["api"] == 1
            dashboard_is_served(client.ask("metrics")["text"])
            topic, event = next(client.events("window"))
            assert topic == "window" and event, event
    finally:
        daemon.terminate()
        job.kill()
        assert daemon.wait(20) == 0
        job.wait()
    with thermocline.Daemon(os.path.join(folder, "none"), 0.2) as nobody:
        refused(lambda: nobody.ask("status"), TimeoutError, "no answer")


def ten_lines():
    """The client that the page prints."""
    with open(os.path.join(HERE, "..", "..", "daemon", "OPERATION.md")) as file:
        lines = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
    assert lines.count("\n") == 10, lines
    return lines


def free_port():
    """One with a free one above it, for the events."""
    for _ in range(100):
        with sockets.socket() as first, sockets.socket() as second:
            first.bind(("127.0.0.1", 0))
            try:
                second.bind(("127.0.0.1", first.getsockname()[1] + 1))
                return first.getsockname()[1]
            except (OSError, OverflowError):
                pass
    raise AssertionError("no two free ports")


def ten_lines_ask(folder):
    service, mine = os.path.join(folder, "service"), os.path.join(folder, "mine")
    for keys in (service, mine):
        subprocess.run([thermocline.PROGRAM, "keygen", keys], check=True,
                       stdout=subprocess.DEVNULL)
    shutil.copy(os.path.join(service, "public.key"),
                os.path.join(mine, "server.key"))
    clients = os.path.join(folder, "clients")
    with open(os.path.join(mine, "public.key")) as key, open(clients, "w") as file:
        file.write(f"read-only {key.read().strip()} ada\n")
    address = f"tcp://127.0.0.1:{free_port()}"
    daemon = subprocess.Popen(
        [os.path.join(BIN, "thermoclined"), "--mover", "dry", "--listen", address,
         "--keys", service, "--clients", clients, "--socket",
         os.path.join(folder, "own.sock")])
    try:
        for op, right in (("version", True), ("pause", False)):
            said = subprocess.run(["/usr/bin/python3", "-c", ten_lines(), address,
                                   mine, op], timeout=60, check=True,
                                  capture_output=True, text=True).stdout
            assert json.loads(said)["ok"] is right, said
    finally:
        daemon.terminate()
        assert daemon.wait(20) == 0


def dashboard_is_served(metrics):
    """Each metric that the dashboard asks for is one that the daemon has."""
    with open(os.path.join(HERE, "..", "..", "daemon", "package",
                           "grafana.json")) as file:
        asked = set(re.findall(r"thermocline_[a-z_]+", json.dumps(
            [panel["targets"] for panel in json.load(file)["panels"]])))
    assert len(asked) > 5, asked
    for name in asked:
        assert f"# TYPE {name} " in metrics, name


def reads():
    assert thermocline.info(TRACE)
    samples = thermocline.read(TRACE)
    assert len(samples) == 300, len(samples)
    assert samples["address"].min() >= 0x7f0000000000
    assert set(samples["access"]) == {"load", "store"}
    assert len(thermocline.read(TRACE, "tensors")) == 10
    assert len(thermocline.read(TRACE, "periods")) == 0
    for what in ("operators", "mappings", "marks", "counters"):
        assert len(thermocline.read(TRACE, what)) > 0, what
    refused(lambda: thermocline.read("/nowhere"), RuntimeError, "/nowhere")
    try:
        import pandas  # noqa: F401
    except ImportError:
        print("python_test: no pandas here; frame() was not tried")
    else:
        table = thermocline.frame(TRACE)
        assert int(table["period"].sum()) == int(samples["period"].sum())
        assert table["address"].min() == samples["address"].min()


with tempfile.TemporaryDirectory() as scratch:
    asks_and_hears(scratch)
    ten_lines_ask(scratch)
reads()
print("python_test: all right")
