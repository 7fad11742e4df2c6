"""A push service of the test's own: what Firefox speaks to Mozilla's autopush, and what senders post to it.

It shares no code with the server that it judges. The WebSocket side follows Mozilla's public protocol
(https://mozilla-services.github.io/autopush-rs/, "Push Service WebSocket API"); the HTTPS side follows RFC 8030, and refuses what
breaks RFC 8188 (content coding) or RFC 8292 (VAPID).
"""

import asyncio
import base64
import json
import ssl
import time
import uuid

import websockets
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Refused(Exception):
    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class Channel:
    def __init__(self, agent, channel_id, key):
        self.agent, self.id, self.key = agent, channel_id, key
        self.token = uuid.uuid4().hex
        self.is_gone = False
        self.waiting = []


class Message:
    def __init__(self, channel, body, headers):
        self.channel, self.body = channel, body
        self.version = uuid.uuid4().hex
        self.topic = headers.get("topic")
        self.urgency = headers.get("urgency", "normal")
        self.ttl = int(headers["ttl"])
        self.expires_at = time.time() + self.ttl


class PushService:
    """`accepted` lists all messages that were taken, `refused` the reasons of those that were not."""

    def __init__(self, certificate, key):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.channels = {}
        self.sockets = {}
        self.agents = set()
        self.accepted, self.refused, self.acknowledged = [], [], []
        self.is_online = True

    async def start(self):
        self.ws = await websockets.serve(self.converse, "127.0.0.1", 0, subprotocols=["push-notification"])
        self.https = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self.tls)
        self.ws_port = self.ws.sockets[0].getsockname()[1]
        self.https_port = self.https.sockets[0].getsockname()[1]

    # What a test does to the service.

    async def go_offline(self):
        self.is_online = False
        for socket in list(self.sockets.values()):
            await socket.close()

    def go_online(self):
        self.is_online = True

    def end_subscriptions(self):
        """As a service does that has lost them: senders get 410."""
        for channel in self.channels.values():
            channel.is_gone = True

    async def forget_agents(self):
        """The browser gets another id when it connects, and drops its subscriptions."""
        self.agents.clear()
        for socket in list(self.sockets.values()):
            await socket.close()

    # The browser's side.

    async def converse(self, socket):
        if not self.is_online:
            return await socket.close()
        agent = None
        try:
            async for text in socket:
                said = json.loads(text)
                if said == {}:
                    await socket.send("{}")
                    continue
                kind = said.get("messageType")
                if kind == "hello":
                    agent = said.get("uaid") if said.get("uaid") in self.agents else uuid.uuid4().hex
                    self.agents.add(agent)
                    self.sockets[agent] = socket
                    await self.say(socket, messageType="hello", status=200, uaid=agent, use_webpush=True, broadcasts={})
                    for channel in list(self.channels.values()):
                        if channel.agent == agent:
                            await self.flush(channel)
                elif kind == "register":
                    channel = Channel(agent, said["channelID"], said.get("key"))
                    self.channels[channel.token] = channel
                    endpoint = f"https://localhost:{self.https_port}/wpush/v2/{channel.token}"
                    await self.say(
                        socket, messageType="register", status=200, channelID=channel.id, pushEndpoint=endpoint)
                elif kind == "unregister":
                    for channel in self.channels.values():
                        if channel.agent == agent and channel.id == said["channelID"]:
                            channel.is_gone = True
                    await self.say(socket, messageType="unregister", status=200, channelID=said["channelID"])
                elif kind == "ack":
                    for update in said.get("updates", []):
                        self.acknowledged.append(update.get("code", 100))
                        for channel in self.channels.values():
                            channel.waiting = [m for m in channel.waiting if m.version != update["version"]]
        except websockets.ConnectionClosed:
            pass
        finally:
            if self.sockets.get(agent) is socket:
                del self.sockets[agent]

    async def say(self, socket, **message):
        await socket.send(json.dumps(message))

    async def flush(self, channel):
        socket = self.sockets.get(channel.agent)
        channel.waiting = [m for m in channel.waiting if m.expires_at >= time.time() or m.ttl == 0 and socket]
        if socket is None:
            return
        for message in channel.waiting:
            await self.say(
                socket, messageType="notification", channelID=channel.id, version=message.version,
                ttl=message.ttl, data=b64(message.body), headers={"encoding": "aes128gcm"})

    # The sender's side: HTTP/1.1 with kept connections.

    async def serve(self, reader, writer):
        try:
            while True:
                line = await reader.readline()
                if not line:
                    return
                method, path, _ = line.decode().split(" ", 2)
                headers = {}
                while (line := await reader.readline()) not in (b"\r\n", b""):
                    name, value = line.decode().split(":", 1)
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                status, fields, text = await self.take(method, path, headers, body)
                head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(text)}\r\n" + "".join(
                    f"{name}: {value}\r\n" for name, value in fields.items())
                writer.write(head.encode() + b"\r\n" + text)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def take(self, method, path, headers, body):
        try:
            channel = self.channel(method, path)
            self.check_vapid(channel, headers)
            self.check_body(headers, body)
            message = Message(channel, body, headers)
        except Refused as refusal:
            self.refused.append(f"{refusal.status} {refusal}")
            return refusal.status, {"content-type": "application/json"}, json.dumps(
                {"code": refusal.status, "errno": 999, "message": str(refusal)}).encode()
        self.accepted.append(message)
        if message.topic:
            channel.waiting = [m for m in channel.waiting if m.topic != message.topic]
        if message.ttl > 0 or channel.agent in self.sockets:
            channel.waiting.append(message)
        await self.flush(channel)
        return 201, {"location": f"https://localhost:{self.https_port}/m/{message.version}", "ttl": message.ttl}, b""

    def channel(self, method, path):
        if method != "POST":
            raise Refused(405, f"{method} is not POST")
        channel = self.channels.get(path.rsplit("/", 1)[-1])
        if channel is None:
            raise Refused(404, "no such subscription")
        if channel.is_gone:
            raise Refused(410, "the subscription has ended")
        return channel

    def check_vapid(self, channel, headers):
        scheme, _, rest = headers.get("authorization", "").partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
        if scheme.lower() != "vapid" or "t" not in parts or "k" not in parts:
            raise Refused(401, "no VAPID token")
        if channel.key and unb64(channel.key) != unb64(parts["k"]):
            raise Refused(403, "another VAPID key than the subscription's")
        head, claims, signature = parts["t"].split(".")
        raw = unb64(signature)
        numbers = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unb64(parts["k"]))
        try:
            key.verify(numbers, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Refused(401, "the VAPID token is not signed by its key")
        said = json.loads(unb64(claims))
        if said["aud"] != f"https://localhost:{self.https_port}":
            raise Refused(401, f"the VAPID token is for {said['aud']}")
        if not time.time() < said["exp"] <= time.time() + 86_400:
            raise Refused(401, "the VAPID token has expired, or lives longer than a day")

    def check_body(self, headers, body):
        if headers.get("content-encoding") != "aes128gcm":
            raise Refused(400, f"content-encoding is {headers.get('content-encoding')}")
        if "ttl" not in headers:
            raise Refused(400, "no TTL")
        if headers.get("urgency", "normal") not in ("very-low", "low", "normal", "high"):
            raise Refused(400, f"urgency is {headers['urgency']}")
        if not 103 <= len(body) <= 4096:
            raise Refused(413, f"the body is {len(body)} bytes")
