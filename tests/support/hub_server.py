#!/usr/bin/env python3
"""A small Hugging Face hub on the loopback interface, with a real one's redirects and failures.

    hub_server.py MODEL LOG     serves the file MODEL; prints its port when it listens; ends when standard input does

Every repository ORG/NAME has the same files; NAME says what goes wrong. Large files (*.safetensors) are redirected to a
second server of another name and port, as the hub does with its CDN. Each request is a line of LOG:

    hub|cdn METHOD PATH RANGE TOKEN        "-" where there is none

Below /published/there/ every file is MODEL, as publishers without a hub serve theirs; below /published/stored/ each is a
redirect to it.
"""
import hashlib
import http.server
import json
import socketserver
import sys
import threading

MAIN, V1 = "a" * 40, "b" * 40
TOKEN = "secret"
model = open(sys.argv[1], "rb").read()
log = open(sys.argv[2], "a", buffering=1)
half = len(model) // 2
counts = {}
index = {"metadata": {}, "weight_map": {"a": "one.safetensors", "b": "parts/two.safetensors"}}
files = {
    "config.json": b"{}\n",
    "README.md": b"# A model\n",
    "model.safetensors": model,
}
sharded = {
    "model.safetensors.index.json": json.dumps(index).encode(),
    "one.safetensors": b"first shard",
    "parts/two.safetensors": b"second shard",
}


def files_of(name):
    if name == "shards":
        return sharded
    if name == "several":
        return {"a.safetensors": b"a", "b.safetensors": b"b"}
    if name == "escaping":
        return {"model.safetensors.index.json": b'{"weight_map": {"a": "../../../two.safetensors"}}',
                "../../../two.safetensors": b"x"}
    if name == "nothing":
        return {"README.md": b"# Nothing\n"}
    return files


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *ignored):
        pass

    def note(self):
        token = self.headers.get("Authorization", "-").removeprefix("Bearer ")
        self.token = token if token != "-" else None
        log.write(f"{self.kind} {self.command} {self.path} {self.headers.get('Range', '-')} {token}\n")

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()


class Hub(Handler):
    kind = "hub"

    def do_GET(self):
        self.note()
        parts = self.path.strip("/").split("/")
        if parts[0] == "published":  # files at plain addresses, without a hub
            if parts[1] == "stored":
                storage = f"http://localhost:{cdn.server_address[1]}"
                return self.answer(302, Location=storage + "/published/model.safetensors")
            return self.answer(200, model) if parts[1] == "there" else self.answer(404)
        api = parts[:2] == ["api", "models"]
        org, name, verb, revision = parts[2:6] if api else parts[:4]
        file = "/".join(parts[4:])
        if name == "moved":
            return self.answer(307, Location=self.path.replace("moved", "good"))
        if name == "missing":
            return self.answer(404, X_Error_Code="RepoNotFound")
        if name == "private" and self.token != TOKEN:
            return self.answer(401, X_Error_Code="RepoNotFound")
        if name == "gated":
            return self.answer(403, X_Error_Code="GatedRepo")
        if name == "busy":
            return self.answer(429)
        if name == "notes":
            return self.answer(200, b"<html>welcome</html>")
        commit = {"main": MAIN, "v1": V1, "refs%2Fpr%2F1": V1, MAIN: MAIN, V1: V1}.get(revision)
        if commit is None:
            return self.answer(404, X_Error_Code="RevisionNotFound")
        if api:
            siblings = [{"rfilename": f} for f in files_of(name)]
            return self.answer(200, json.dumps({"id": f"{org}/{name}", "sha": commit, "siblings": siblings}).encode())
        body = files_of(name).get(file)
        if body is None:
            return self.answer(404, X_Error_Code="EntryNotFound")
        if not file.endswith(".safetensors"):
            etag = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
            return self.answer(200, body, ETag=f'W/"{etag}"', X_Repo_Commit=commit)
        sha256 = hashlib.sha256(body).hexdigest()
        if name == "corrupt":
            sha256 = "0" * 64
        if name == "traversal":
            sha256 = "../../evil"
        self.answer(302, Location=f"http://localhost:{cdn.server_address[1]}/{name}/{file}", X_Repo_Commit=commit,
                    X_Linked_Etag=f'"{sha256}"', X_Linked_Size=str(2**60 if name == "huge" else len(body)), ETag='"of the redirect"')


class Cdn(Handler):
    kind = "cdn"

    def do_GET(self):
        self.note()
        name, file = self.path.strip("/").split("/", 1)
        body = files_of(name)[file]
        counts[name] = counts.get(name, 0) + 1
        begin = 0
        if "Range" in self.headers and name != "no_ranges":
            begin = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(body) - begin))
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        if name == "tiny_bites":  # always breaks off, after a few bytes
            body = body[:begin + len(body) // 5 + 1]
        if name == "crumbs":  # one byte an answer
            body = body[:begin + 1]
        if name == "stuck" or (name in ("breaks", "no_ranges") and counts[name] == 1):
            body = body[:half]
        if name == "stalls" and counts[name] == 1:
            self.wfile.write(body[:half])
            self.wfile.flush()
            threading.Event().wait()  # until the client is killed
        self.wfile.write(body[begin:])
        self.close_connection = True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *ignored):  # the client was killed
        pass


hub, cdn = Server(("127.0.0.1", 0), Hub), Server(("127.0.0.1", 0), Cdn)
for server in (hub, cdn):
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(hub.server_address[1], flush=True)
sys.stdin.read()
