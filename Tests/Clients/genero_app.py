#!/usr/bin/env python3
"""An app of Genero that talks to its token maintainer, written from the wire documents alone.

Reads a JSON array of calls `[command, members]` and prints the array of what the app made of each answer: an integer status that is 0 or
more is success, and anything but HTTP 200 is an error.
"""
import http.client
import json
import sys

HEADERS = {"Content-Type": "application/json"}


def call(host, port, prefix, command, members):
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request("POST", f"{prefix}/{command}", json.dumps(members), HEADERS)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            return {"http": answer.status}
        if not answer.getheader("Content-Type", "").startswith("application/json"):
            return {"http": 200, "type": answer.getheader("Content-Type")}
        parsed = json.loads(body)
        if sorted(parsed) != ["message", "status"] or type(parsed["status"]) is not int:
            return {"http": 200, "odd": parsed}
        return {"http": 200, "status": parsed["status"], "message": parsed["message"]}
    finally:
        connection.close()


def main():
    host, port, prefix = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    calls = json.load(sys.stdin)
    json.dump([call(host, port, prefix, command, members) for command, members in calls], sys.stdout)


main()
