"""The dashboard through the proxies of others, by the recipes of docs/Operations.md, and over plain HTTP without one.

Each recipe is used as it stands there. Only the ports and the folder of the certificate are this run's own.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.parse

from chromium import Browser
from firefox import Firefox
from steps import EMAIL, PASSWORD, did, until

HOST = "push.example.org"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def recipe(root, title):
    """The block of docs/Operations.md below the heading."""
    text = open(os.path.join(root, "docs", "Operations.md")).read()
    return re.search(rf"^### {re.escape(title)}\n.*?^```[a-z]*\n(.*?)^```", text, re.M | re.S)[1]


def certificate(folder):
    """One for the host, as the recipes name it: apart, and both parts in a file."""
    base = os.path.join(folder, HOST)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}", "-addext",
                    f"subjectAltName=DNS:{HOST}", "-keyout", base + ".key", "-out", base + ".pem"],
                   check=True, capture_output=True)
    with open(base + ".both.pem", "w") as both:
        both.write(open(base + ".pem").read() + open(base + ".key").read())


def nginx(folder, config):
    paths = "".join(f"{name}_temp_path {folder}/{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    text = f"user root; worker_processes 1; pid {folder}/pid; events {{}}\nhttp {{ access_log off; {paths}\n{config}\n}}\n"
    return ["nginx", "-p", folder, "-e", f"{folder}/error.log", "-g", "daemon off;", "-c", write(folder, "nginx.conf", text)]


def caddy(folder, config):
    text = f"{{\n admin off\n auto_https disable_redirects\n http_port {free_port()}\n}}\n{config}"
    return ["caddy", "run", "--adapter", "caddyfile", "--config", write(folder, "Caddyfile", text)]


def haproxy(folder, config):
    return ["haproxy", "-db", "-f", write(folder, "haproxy.cfg", config)]


def apache(folder, config):
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in
                        ["mpm_event", "authz_core", "ssl", "socache_shmcb", "proxy", "proxy_http", "headers"])
    port = re.search(r"VirtualHost \*:(\d+)", config)[1]
    text = (f"ServerRoot {folder}\nServerName {HOST}\nPidFile {folder}/pid\nErrorLog {folder}/error.log\nDefaultRuntimeDir {folder}\n"
            f"Mutex file:{folder}\n{modules}\n"
            f"User www-data\nGroup www-data\nListen {port}\n{config}")
    return ["apache2", "-DFOREGROUND", "-f", write(folder, "apache.conf", text)]


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


class Proxy:
    """A proxy in a folder of its own, ended by its process id."""

    def __init__(self, make, config, port, folder):
        self.log = os.path.join(folder, "proxy.log")
        environment = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        self.process = subprocess.Popen(make(folder, config), stdout=open(self.log, "w"), stderr=subprocess.STDOUT,
                                        env=environment)
        try:
            until(f"the proxy: {self.log}", lambda: self.listens(port))
        except BaseException:
            self.stop()
            raise

    def listens(self, port):
        assert self.process.poll() is None, open(self.log).read()[-2000:]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Way:
    """How requests get to the server: the URL that people use, and a connection that a program makes there."""

    def __init__(self, scheme, port, path=""):
        self.scheme, self.port, self.path = scheme, port, path
        self.url = f"{scheme}://{HOST}:{port}{path}"

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), 30)
        if self.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            plain = context.wrap_socket(plain, server_hostname=HOST)
        connection = http.client.HTTPConnection(HOST, self.port)
        connection.sock = plain
        return connection

    def ask(self, method, path, headers=None, body=None):
        connection = self.connect()
        connection.request(method, self.path + path, body, {"Host": f"{HOST}:{self.port}", **(headers or {})})
        return connection.getresponse()


def comments(way, app, key):
    """An event stream that has nothing to tell says so within 15 seconds, through the proxy."""
    answer = way.ask("GET", f"/admin/v1/apps/{app}/events", {"Authorization": f"Bearer {key}"})
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream"), answer.status
    while line := answer.readline():
        if line == b":\n":
            return
    raise AssertionError("the stream ended without a comment")


def program(way, installation):
    """What a program sees: cookies, methods, encoded paths, bodies that are compressed."""
    page = way.ask("GET", "/dashboard/login")
    text, cookie = page.read().decode(), page.headers["Set-Cookie"]
    assert page.status == 200, page.status
    assert ("; Secure" in cookie) == (way.scheme == "https"), cookie
    assert f"; Path={way.path}/dashboard;" in cookie, cookie
    style = re.search(r'href="([^"]*style\.css[^"]*)"', text)[1]
    assert style.startswith(way.path + "/dashboard/assets/"), style
    assert way.ask("HEAD", "/dashboard/login").status == 200
    assert way.ask("GET", "/dashboard").headers["Location"].endswith(way.path + "/dashboard/login"), "a redirect leads there"
    assert way.ask("GET", "/v1/ver%73ion").status == 200, "an encoded letter is that letter"
    assert way.ask("GET", "/sdk/web/v1/belfry.js").status == 200
    files = way.ask("GET", "/sdk/web/v1/integrity.json").read().decode()
    assert f'"url":"{way.path}/sdk/web/v1/belfry.js' in files.replace(" ", "").replace("\\/", "/"), files[:300]
    zipped = way.ask("POST", "/admin/v1/apps", {
        "Authorization": f"Bearer {installation.key}", "Content-Encoding": "gzip", "Content-Type": "application/json"}, b"\x1f\x8b")
    assert zipped.status == 415 and "gzip" in zipped.read().decode(), zipped.status


def person(way, browser, name, topic):
    """Logs in, makes an application by a form, and a topic, which stands in a path."""
    browser.url = way.url
    browser.open("/dashboard/apps")
    assert browser.driver.current_url.startswith(way.url + "/dashboard/login"), browser.driver.current_url
    browser.fill("email", EMAIL)
    browser.fill("password", PASSWORD)
    browser.press("Log in")
    assert browser.driver.current_url == way.url + "/dashboard/apps", browser.driver.current_url + browser.text()
    browser.press("New application")
    browser.fill("name", name)
    browser.press("Create")
    app = browser.fact("App UUID")
    browser.open(f"/dashboard/apps/{app}/topics")
    browser.fill("names", topic)
    browser.press("Create")
    browser.open(f"/dashboard/apps/{app}/topics/{urllib.parse.quote(topic, safe='')}")
    assert topic in browser.text() and "Subscribers" in browser.text(), browser.text()
    weight = browser.script("return getComputedStyle(document.querySelector('h1')).fontWeight")
    assert browser.script("return document.documentElement.classList.contains('scripted')"), "the script runs"
    assert int(weight) >= 500, "the style sheet is there"
    return app


def case(name, installations, root, folder, proxy=None, scheme="http", path="", settings=None, browsers=(Browser, Firefox), topic="a/b 100% %41 ü"):
    """- proxy: the function that makes its command, and its configuration with HTTP_PORT, SERVER and CERTIFICATES to be filled in."""
    with contextlib.ExitStack() as ends:
        own = os.path.join(folder, re.sub(r"\W+", "-", name))
        os.makedirs(own)
        os.chmod(own, 0o755)
        port = free_port()
        installation = installations(own, port, **{key: value.replace("PORT", str(port)) for key, value in (settings or {}).items()})
        ends.callback(installation.stop)
        installation.serve()
        if proxy:
            make, config = proxy
            config = config.replace("127.0.0.1:8080", f"127.0.0.1:{installation.port}").replace(f"/etc/ssl/{HOST}", f"{folder}/{HOST}")
            config = re.sub(r"(\blisten|\bbind :|\*:)(\s*)(443|80)\b", rf"\g<1>\g<2>{port}", config)
            config = re.sub(rf"^(?:http://)?{re.escape(HOST)} {{", f"{scheme}://{HOST}:{port} {{", config, flags=re.M)
            proxy = Proxy(make, config, port, own)
            ends.callback(proxy.stop)
            way = Way(scheme, port, path)
        else:
            way = Way(scheme, installation.port, path)
        try:
            installation.prepare()
            program(way, installation)
            if settings:
                # A proxy that puts its own name for the server into Host says in another header what it was.
                direct = Way("http", installation.port)
                for forwarded, status in [({}, 421), ({"X-Forwarded-Host": f"{HOST}:{port}"}, 200),
                                          ({"X-Forwarded-Host": "evil.example"}, 421)]:
                    answer = direct.ask("GET", "/dashboard/login", {"Host": "belfry:8080", **forwarded})
                    assert answer.status == status, (forwarded, answer.status)
            made = way.ask("POST", "/admin/v1/apps", {
                "Authorization": f"Bearer {installation.key}", "Content-Type": "application/json"}, b'{"name":"Streams"}')
            app = json.load(made)["app_uuid"]
            faults = []

            def listen():
                try:
                    comments(way, app, installation.key)
                except Exception as error:
                    faults.append(error)

            listener = threading.Thread(target=listen)
            listener.start()
            for kind in browsers:
                browser = kind(way.url)
                ends.callback(browser.quit)
                person(way, browser, f"By {kind.NAME}", topic)
                browser.check()
            listener.join()
            assert not faults, faults
            names = installation.rows("SELECT name FROM application WHERE name LIKE 'By %' ORDER BY name")
            assert names == [(f"By {kind.NAME}",) for kind in sorted(browsers, key=lambda kind: kind.NAME)], names
        except Exception:
            if isinstance(proxy, Proxy):
                print(f"--- {name}\n" + open(proxy.log).read()[-3000:])
            raise
    did(f"{name}: people log in and make an application in {' and '.join(kind.NAME for kind in browsers)}, programs see what they should")


def scenario(installations, root, folder):
    os.chmod(folder, 0o755)
    certificate(folder)
    behind = {"BELFRY_PUBLIC_URL": f"https://{HOST}:PORT", "BELFRY_HTTP_TRUSTED_PROXIES": "127.0.0.1"}
    below = {**behind, "BELFRY_PUBLIC_URL": f"https://{HOST}:PORT/push"}
    run = lambda name, *rest, **more: case(name, installations, root, folder, *rest, **more)
    run("plain HTTP by a name")
    run("nginx with its defaults", (nginx, f"server {{ listen 80; location / {{ proxy_pass http://127.0.0.1:8080; }} }}"))
    run("Apache with its defaults", (apache, "<VirtualHost *:80>\nProxyPass / http://127.0.0.1:8080/ nocanon\nAllowEncodedSlashes NoDecode\n"
                                     "</VirtualHost>\n"))
    run("Caddy with its defaults", (caddy, f"http://{HOST} {{\n reverse_proxy 127.0.0.1:8080\n}}\n"))
    run("HAProxy with its defaults", (haproxy, "defaults\n mode http\n timeout connect 5s\n timeout client 75s\n timeout server 75s\n"
                                      "frontend f\n bind :80\n default_backend b\nbackend b\n server s 127.0.0.1:8080\n"))
    for title, make in [("nginx", nginx), ("Caddy", caddy), ("HAProxy", haproxy), ("Apache", apache)]:
        run(f"the recipe of {title}", (make, recipe(root, title)), scheme="https", settings=behind)
    kept = recipe(root, "Below a path")
    run("below a path that nginx passes on", (nginx, kept), scheme="https", path="/push", settings=below)
    stripped = kept.replace("proxy_pass http://127.0.0.1:8080;", "proxy_pass http://127.0.0.1:8080/;")
    assert stripped != kept
    # It decodes what it cuts, so a slash in a name is one of the path.
    run("below a path that nginx takes away", (nginx, stripped), scheme="https", path="/push", settings=below, topic="a b ü")
