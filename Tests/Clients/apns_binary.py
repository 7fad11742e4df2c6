#!/usr/bin/env python3
"""Old senders of Apple's binary protocol, written from the wire documents alone.

  genero    one record of command 2 on a connection of its own, as Genero's push provider sends it
  stream    many records without waiting, as java-apns and the like send them
  feedback  the feedback service

Each prints one JSON object.
"""
import argparse
import base64
import json
import select
import socket
import ssl
import struct
import sys
import time

# How long what has to come is waited for, in seconds: longer than a loaded machine takes.
PATIENCE = 60


def connect(args):
    context = ssl.create_default_context(cafile=args.ca)
    context.load_cert_chain(args.cert, args.key)
    raw = socket.create_connection((args.host, args.port), timeout=PATIENCE)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(raw, server_hostname="localhost")


def item(number, data):
    return struct.pack(">BH", number, len(data)) + data


def record(command, identifier, token, payload, expiry, priority=10):
    if command == 0:
        return struct.pack(">BH", 0, len(token)) + token + struct.pack(">H", len(payload)) + payload
    if command == 1:
        head = struct.pack(">B4sIH", 1, identifier, expiry, len(token))
        return head + token + struct.pack(">H", len(payload)) + payload
    items = (item(3, identifier) + item(1, token) + item(2, payload) + item(4, struct.pack(">I", expiry))
             + item(5, bytes([priority])))
    return struct.pack(">BI", 2, len(items)) + items


def word(connection):
    """What the server has said already, without waiting for it."""
    if not select.select([connection], [], [], 0)[0]:
        return b""
    connection.settimeout(0)
    try:
        return connection.recv(6)
    except ssl.SSLWantReadError:
        return b""
    finally:
        connection.settimeout(None)


def answer(connection, seconds, received=b""):
    """What comes within so many seconds of silence: `silence`, `closed`, or the error packet."""
    connection.settimeout(seconds)
    try:
        while len(received) < 6:
            more = connection.recv(6 - len(received))
            if not more:
                return {"end": "closed", "bytes": received.hex()}
            received += more
    except (socket.timeout, TimeoutError):
        return {"end": "silence"}
    except (ConnectionError, ssl.SSLError) as error:
        return {"end": "broken", "error": str(error)}
    command, status, identifier = struct.unpack(">BB4s", received)
    return {"end": "error", "command": command, "status": status, "identifier": identifier.hex(),
            "closed": is_closed(connection)}


def is_closed(connection):
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except (socket.timeout, TimeoutError):
        return False
    except (ConnectionError, ssl.SSLError):
        return True


def genero(args):
    connection = connect(args)
    token = base64.b64decode(args.token)
    identifier = base64.b64decode(args.identifier)
    connection.sendall(record(2, identifier, token, args.payload.encode(), int(time.time()) + 600))
    return answer(connection, 2.0)


def stream(args):
    """Identifiers count from `first`; the token of each is its number, and so is its payload's alert."""
    connection = connect(args)
    expiry = int(time.time()) + 600
    sent = 0
    out = {}
    said = b""
    try:
        for number in range(args.first, args.first + args.count):
            token = struct.pack(">I", number).rjust(32, args.prefix.encode())
            payload = b"x" if number == args.bad else json.dumps(
                {"aps": {"alert": str(number), "sound": "default"}}).encode()
            connection.sendall(record(args.command, struct.pack(">I", number), token, payload, expiry))
            sent += 1
            if sent % 50 == 0 and (said := word(connection)):
                break
    except (ConnectionError, ssl.SSLError, OSError) as error:
        out["broken"] = str(error)
    if args.half_close:
        socket.socket.shutdown(connection, socket.SHUT_WR)
    out.update(answer(connection, args.silence, said))
    out["sent"] = sent
    return out


def feedback(args):
    connection = connect(args)
    if args.half_close:
        socket.socket.shutdown(connection, socket.SHUT_WR)
    connection.settimeout(PATIENCE)
    received = b""
    try:
        while True:
            more = connection.recv(4096)
            if not more:
                break
            received += more
    except (socket.timeout, TimeoutError):
        return {"end": "timeout", "tuples": []}
    tuples = []
    while received:
        moment, length = struct.unpack(">IH", received[:6])
        tuples.append([moment, received[6:6 + length].hex()])
        received = received[6 + length:]
    return {"end": "closed", "tuples": tuples}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["genero", "stream", "feedback"])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--identifier", default="3q2+7w==")
    parser.add_argument("--payload", default='{"aps":{"alert":"Hello","badge":1}}')
    parser.add_argument("--command", type=int, default=2)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--bad", type=int, default=-1)
    parser.add_argument("--prefix", default="t")
    parser.add_argument("--silence", type=float, default=2.2)
    parser.add_argument("--half-close", action="store_true")
    args = parser.parse_args()
    roles = {"genero": genero, "stream": stream, "feedback": feedback}
    json.dump(roles[args.role](args), sys.stdout)


main()
