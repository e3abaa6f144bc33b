#!/usr/bin/env python3
"""The page of camera-linux in a headless Chromium: what the network answers is on it, and the stream is the image of
that answer, not the one before.

    tests/camera/browser_test.py CAMERA_LINUX SCRATCH_FOLDER

Leaves SCRATCH_FOLDER/page.png for people to look at. Ends with 77 where there is no Chromium (Debian: chromium, or
chromium-headless-shell). The network is UltraFace, converted by the `ferry` beside CAMERA_LINUX; the frames are two
photographs in turn, one of them with faces.
"""
import base64, json, os, re, shutil, signal, subprocess, sys, tempfile, time

BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome", "chrome")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def prepare(program, scratch):
    """A detector of faces and photographs, as the options of camera-linux."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    shared = os.environ.get("FERRY_SHARED", os.path.join(root, "..", "shared"))
    network = os.path.join(shared, "weights", "ultraface", "version-RFB-320.onnx")
    if not os.path.exists(network):
        skip("../shared is not here")
    model, folder = os.path.join(scratch, "faces.ferry"), os.path.join(scratch, "photos")
    os.makedirs(folder, exist_ok=True)
    ferry = os.path.join(os.path.dirname(program), "ferry")
    subprocess.run([ferry, "convert", network, "-o", model], check=True, stdout=subprocess.DEVNULL)
    for name in ("face.jpg", "hot_dog.jpg"):
        shutil.copy(os.path.join(shared, "photos", name), folder)
    return [model, "--images", folder, "--fps", "2", "--loop"]


class Browser:
    """One page, by the DevTools protocol over two pipes: https://chromedevtools.github.io/devtools-protocol/"""

    def __init__(self, program, profile, url):
        reads, self.to = os.pipe()
        self.back, writes = os.pipe()
        def wire():  # the browser reads from 3 and writes to 4
            a, b = os.dup(reads), os.dup(writes)
            os.dup2(a, 3), os.dup2(b, 4)
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--window-size=1280,760", f"--user-data-dir={profile}", "about:blank"],
            close_fds=False, preexec_fn=wire, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(reads), os.close(writes)
        self.left, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.left:
                more = os.read(self.back, 1 << 20)
                if not more:
                    raise SystemExit("the browser has ended")
                self.left += more
            text, self.left = self.left.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")


# Expected within a time limit: an expression on the page, and a pattern of its value.
EXPECTED = {
    "document.getElementById('note').textContent": r".*: 2 images; .*: detection",
    "document.querySelector('#view img').naturalWidth > 100": r"True",
    "document.querySelectorAll('#names span').length": r"4",
    "document.querySelector('#names span').textContent": r"face (9\d\.\d|100\.0) %",
    "document.querySelectorAll('#answer li').length": r"4",
    "document.getElementById('p99').textContent": r"[\d.]+ ms",
    "document.getElementById('rate').textContent": r"[\d.]+ a second",
    "document.getElementById('dropped').textContent": r"\d+ of \d+",
}

# Face names appear only with the photograph of 512x355 that has faces.
TOGETHER = """(document.querySelectorAll('#names span').length == 4) ==
              (document.querySelector('#view img').naturalHeight == 355)"""


def main():
    program, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        skip("there is no Chromium")
    os.makedirs(scratch, exist_ok=True)
    options = prepare(program, scratch)
    camera = subprocess.Popen([program, *options, "--port", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    url = next(filter(None, (re.search(r"http://\S+", line) for line in camera.stderr)))[0]
    browser = None
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            browser = Browser(found, profile, url)
            end, wrong = time.time() + 60, list(EXPECTED)
            while wrong and time.time() < end:
                time.sleep(0.13)  # so that both images are sampled
                wrong = [e for e in EXPECTED if not re.fullmatch(EXPECTED[e], str(browser.value(e)))]
            for expression in wrong:
                print(f"{expression} is {browser.value(expression)!r}, expected {EXPECTED[expression]}")
            while not wrong and browser.value("document.querySelectorAll('#names span').length") != 4:
                time.sleep(0.05)
            image = browser.call("Page.captureScreenshot", format="png")["data"]
            with open(os.path.join(scratch, "page.png"), "wb") as file:
                file.write(base64.b64decode(image))
            seen = []
            for _ in range(60):
                time.sleep(0.05)
                seen.append(browser.value(TOGETHER))
            if seen.count(True) < 45:  # answer and image arrive one after the other
                wrong.append(TOGETHER)
                print(f"answer and image belonged together {seen.count(True)} times of {len(seen)}")
            browser.process.kill()
            browser.process.wait()
        camera.send_signal(signal.SIGTERM)
        code = camera.wait(timeout=20)
    finally:
        camera.kill()
        if browser:
            browser.process.kill()
    if code != 0:
        print(f"camera-linux ended with {code}")
    if wrong or code != 0:
        return 1
    print(f"the page shows what is answered; {scratch}/page.png is to be looked at")
    return 0


if __name__ == "__main__":
    sys.exit(main())
