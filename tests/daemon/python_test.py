"""thermocline.py against a real thermoclined and a real trace.

    python_test.py BIN_DIRECTORY
"""
import json
import os
import re
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
reads()
print("python_test: all right")
