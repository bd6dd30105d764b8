"""Thermocline from Python: ask a running thermoclined, hear what it does, read
traces into arrays. One file, to be copied where it is needed.

    import thermocline

    with thermocline.Daemon() as daemon:
        print(daemon.ask("status")["moves"]["moved_bytes"])
        for topic, event in daemon.events():      # one a window, without end
            print(event["targets"])

    samples = thermocline.read("job.trace")       # a structured numpy array
    hot = samples[samples["latency_cycles"] > 300]
    tensors = thermocline.frame("job.trace", "tensors")       # with pandas

Needs pyzmq for the daemon (Debian: python3-zmq); numpy for read() and pandas for
frame(), which run `thermocline export`. What can be asked, and what comes back,
is in API.md. A Daemon belongs to one thread.
"""
import json
import os
import subprocess

PROGRAM = "thermocline"  # or a path: what read() and frame() run


class Refused(Exception):
    """The daemon said no: `code` is one of API.md's, the text says why."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def default_socket():
    """Where thermoclined listens if nobody says otherwise."""
    if os.environ.get("THERMOCLINE_SOCKET"):
        return os.environ["THERMOCLINE_SOCKET"]
    if os.geteuid() == 0:
        return "/run/thermocline/api.sock"
    if os.environ.get("XDG_RUNTIME_DIR"):
        return os.environ["XDG_RUNTIME_DIR"] + "/thermocline/api.sock"
    return f"/tmp/thermocline-{os.geteuid()}/api.sock"


class Daemon:
    """A running thermoclined. `socket` is a path, or tcp://HOST:PORT with
    `keys`, the directory that `thermocline keygen` made for this client."""

    def __init__(self, socket=None, timeout_s=5.0, keys=None):
        import zmq
        self._zmq = zmq
        self._keys = keys
        self._timeout_ms = int(timeout_s * 1000)
        self._address = socket or default_socket()
        if "://" not in self._address:
            self._address = "ipc://" + self._address
        self._context = zmq.Context()
        self._requests = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._context.destroy(linger=0)

    def ask(self, operation, **fields):
        """The answer, as a dict. Raises Refused, and TimeoutError when nobody
        answers."""
        if self._requests is None:
            self._requests = self._connect(self._zmq.REQ, self._address)
        self._requests.send_string(
            json.dumps({"v": 1, "op": operation, **fields}))
        if not self._requests.poll(self._timeout_ms):
            # A REQ that waits for an answer can ask nothing else.
            self._requests.close(linger=0)
            self._requests = None
            raise TimeoutError(f"no answer from {self._address}; does "
                               "thermoclined run, and may you ask it?")
        answer = json.loads(self._requests.recv())
        if not answer.get("ok"):
            error = answer.get("error", {})
            raise Refused(error.get("code", "unknown"),
                          error.get("message", str(answer)))
        return answer

    def events(self, *topics, address=None):
        """(topic, dict) of each event as it comes, of these topics or of all.
        `address`: over TCP, where events are published."""
        events = self._connect(self._zmq.SUB,
                               address or self._address + ".events")
        for topic in topics or ("",):
            events.subscribe(topic)
        try:
            while True:
                topic, text = events.recv_multipart()
                yield topic.decode(), json.loads(text)
        finally:
            events.close(linger=0)

    def _connect(self, kind, address):
        socket = self._context.socket(kind)
        if self._keys:
            def key(name):
                with open(os.path.join(self._keys, name)) as file:
                    return file.read().strip().encode()
            socket.curve_publickey = key("public.key")
            socket.curve_secretkey = key("secret.key")
            socket.curve_serverkey = key("server.key")
        socket.connect(address)
        return socket


def info(trace):
    """What `thermocline info --json` says of a trace, as a dict."""
    return json.loads(_run(["info", "--json", trace]))


def read(trace, what="samples"):
    """A list of the trace as a structured numpy array: samples, tensors,
    operators, mappings, marks, counters, losses, periods, sequences,
    tensor_accesses."""
    import csv
    import io

    import numpy
    text = _run(["export", "--csv", "--what", what, trace])
    names, *rows = csv.reader(io.StringIO(text))
    columns = [numpy.array([_number(one) for one in column])
               for column in (zip(*rows) if rows else [()] * len(names))]
    return numpy.rec.fromarrays(columns, names=names)


def frame(trace, what="samples"):
    """The same as a pandas DataFrame."""
    import io

    import pandas
    text = _run(["export", "--csv", "--what", what, trace])
    hexadecimal = {name: lambda word: int(word, 16)
                   for name in ("address", "ip", "physical", "start", "end")
                   if name in text.split("\n", 1)[0].split(",")}
    return pandas.read_csv(io.StringIO(text), converters=hexadecimal)


def _number(text):
    """Addresses are hexadecimal, with 0x; what is no number stays text."""
    try:
        return int(text, 16 if text.startswith("0x") else 10)
    except ValueError:
        return text


def _run(words):
    ran = subprocess.run([PROGRAM] + words, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip() or f"{PROGRAM} failed")
    return ran.stdout
