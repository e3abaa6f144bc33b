"""The blobs that devices get: converted and certified here, from fixtures whose weights follow from a rule."""
import collections, os, subprocess

from faults import Usage

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("FERRY_SHARED", os.path.join(ROOT, "..", "shared"))

Model = collections.namedtuple("Model", "name path")

# Fixture, options of `ferry convert`. The first is in the repository; the others are outside of it, and skipped if
# absent.
FIXTURES = (
    ("lraspp_mobilenet_v3_large", ["--num-classes", "5", "--input-size", "65x97"]),
    ("timm_mobilenetv2_100", ["--model", "mobilenetv2_100"]),
)


def say(words):
    print(f"device-test: {words}", flush=True)


def run(command, what):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise Usage(f"{what} failed:\n{done.stdout[-3000:]}")


def build_tools(tools):
    """The host's ferry, which converts, and make_checkpoint; nothing where they are there."""
    if all(os.path.exists(os.path.join(tools, name)) for name in ("ferry", "make_checkpoint")):
        return
    if os.path.realpath(tools) != os.path.realpath(os.path.join(ROOT, "build/dev/bin")):
        raise Usage(f"{tools} holds no ferry and make_checkpoint")
    say("building the converter for this machine (the first time this includes XNNPACK, about 10 minutes on 2 cores)")
    run([os.path.join(ROOT, "scripts/setup")], "scripts/setup")
    run(["cmake", "--preset", "dev", "-Wno-dev"], "cmake --preset dev")
    run(["cmake", "--build", "--preset", "dev", "--target", "ferry_cli", "make_checkpoint"], "building ferry")


def prepare(tools, folder):
    """Certified blobs of FIXTURES in `folder`, made where they are missing or older than the converter."""
    models = []
    os.makedirs(folder, exist_ok=True)
    for name, options in FIXTURES:
        fixture = os.path.join(ROOT, "tests/data/fixtures", name)
        if not os.path.exists(fixture):
            fixture = os.path.join(SHARED, "fixtures", name)
        if not os.path.exists(fixture):
            continue
        blob, checkpoint = os.path.join(folder, name + ".ferry"), os.path.join(folder, name + ".safetensors")
        ferry = os.path.join(tools, "ferry")
        if not os.path.exists(blob) or os.path.getmtime(blob) < os.path.getmtime(ferry):
            say(f"converting {name}, with a certificate")
            run([os.path.join(tools, "make_checkpoint"), os.path.join(fixture, "manifest.json"), checkpoint],
                f"the checkpoint of {name}")
            run([ferry, "convert", checkpoint, *options, "--certify", fixture, "-o", blob], f"converting {name}")
            os.remove(checkpoint)
        models.append(Model(name, blob))
    return models
