#!/usr/bin/env python3
"""The Gradle projects, as far as can be seen without Gradle, the Android SDK and the network.

    tests/package/gradle_test.py [SOURCE_FOLDER]
"""
import hashlib, os, re, sys
import xml.etree.ElementTree as xml

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIBRARY, EXAMPLE = "bindings/android", "examples/android-camera"
# SHA-256 of gradle-wrapper.jar of Gradle 9.0 and 9.1, which Gradle lists with its releases.
WRAPPER = "76805e32c009c0cf0dd5d206bddc9fb22ea42e84db904b764f3047de095493f3"
ANDROID = "{http://schemas.android.com/apk/res/android}"
faults = []


def path(*parts):
    return os.path.join(ROOT, *parts)


def read(*parts):
    with open(path(*parts), encoding="utf-8") as file:
        return file.read()


def expect(truth, fault):
    if not truth:
        faults.append(fault)


def files(end):
    for project in (LIBRARY, EXAMPLE):
        for folder, folders, names in os.walk(path(project)):
            folders[:] = [name for name in folders if name not in ("build", ".gradle", ".cxx", ".idea")]
            for name in names:
                if name.endswith(end):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def section(catalogue, name):
    body = catalogue.split(f"[{name}]\n")[1].split("\n[")[0]
    return dict(re.findall(r"^([\w-]+) = (.+)$", body, re.M))


def check_catalogue(scripts):
    """Every version is in the catalogue, everything in the catalogue is used, and what is used is there."""
    text = read(LIBRARY, "gradle/libs.versions.toml")
    tables = {name: section(text, name) for name in ("versions", "libraries", "plugins")}
    names = {"libs." + name.replace("-", ".") for name in tables["libraries"]}
    names |= {"libs.plugins." + name.replace("-", ".") for name in tables["plugins"]}
    everything = "\n".join(scripts.values())
    used = {key for key in re.findall(r"libs\.[\w.]+", everything) if not key.startswith("libs.versions.")}
    expect(used == names, f"the catalogue and the scripts differ in {sorted(used ^ names)}")
    versions = set(re.findall(r"libs\.versions\.(\w+)\.get", everything))
    versions |= set(re.findall(r'version\.ref = "([\w-]+)"', text))
    odd = sorted(versions ^ set(tables["versions"]))
    expect(not odd, f"versions unused or absent: {odd}")
    for name, body in scripts.items():
        expect(not re.search(r'"[\w.-]+:[\w.-]+:\d|\bversion "\d|(Sdk|ndkVersion) = ["\d]', body),
               f"{name} has a version of its own")
    number = {key: int(tables["versions"][key].strip('"')) for key in ("compileSdk", "targetSdk", "minSdk", "java")}
    expect(number == {"compileSdk": 36, "targetSdk": 36, "minSdk": 24, "java": 17}, f"the versions are {number}")
    expect(tables["versions"]["ndk"].startswith('"28.'), "the NDK is not of version 28")
    expect(tables["versions"]["agp"].startswith('"9.'), "the Android Gradle plugin is not of version 9")


def check_scripts(scripts):
    for name, body in scripts.items():
        expect("kotlin.android" not in body, f"{name} applies a Kotlin plugin, which AGP 9 has built in")
        expect(not re.search(r'"/(usr|etc|opt|home|root|lib)\b|apt-get|dpkg', body), f"{name} has a path of one system")
        expect(body.count("{") == body.count("}") and body.count("(") == body.count(")"), f"{name}: brackets")
    for project in (LIBRARY, EXAMPLE):
        wrapper = read(project, "gradle/wrapper/gradle-wrapper.properties")
        expect(wrapper == read(LIBRARY, "gradle/wrapper/gradle-wrapper.properties"), "the wrappers differ")
        expect("/gradle-9.1" in wrapper, "AGP 9.0 needs Gradle 9.1")
        with open(path(project, "gradle/wrapper/gradle-wrapper.jar"), "rb") as jar:
            expect(hashlib.sha256(jar.read()).hexdigest() == WRAPPER, f"{project}: not the wrapper that Gradle published")
        for script in ("gradlew", "gradlew.bat"):
            expect(read(project, script) == read(LIBRARY, script), f"{project}/{script} differs")
        expect(os.access(path(project, "gradlew"), os.X_OK), f"{project}/gradlew is not executable")
    library = scripts[LIBRARY + "/build.gradle.kts"]
    for module, body in ((LIBRARY, library), (LIBRARY + "/text", scripts[LIBRARY + "/text/build.gradle.kts"])):
        expect("`maven-publish`" in body and "publish.gradle.kts" in body, f"{module} is not published")
        for entry in re.findall(r'(?:headers = |srcDir\(|path = file\(|consumerProguardFiles\()"(.+?)"', body):
            expect(os.path.exists(path(module, entry)), f"{module}: there is no {entry}")
        cmake = "".join(read(name) for name in cmake_files())
        for target in re.search(r"targets \+= listOf\((.+?)\)", body)[1].replace('"', "").split(", "):
            expect(re.search(rf"\b{target}\b", cmake), f"{module}: CMake has no target {target}")
    publish = scripts[LIBRARY + "/publish.gradle.kts"]
    expect("Apache-2.0" in publish and "licenses" in publish, "the POM has no licence")
    example = scripts[EXAMPLE + "/build.gradle.kts"]
    for entry in re.findall(r'(?:dir|srcDir)\("([\w./-]+)"\)', example):
        expect(os.path.exists(path(EXAMPLE, entry)), f"{EXAMPLE}: there is no {entry}")


def cmake_files():
    yield "CMakeLists.txt"
    for top in ("cmake", "sdk", LIBRARY + "/jni"):
        for folder, _, names in os.walk(path(top)):
            for name in names:
                if name.endswith(".cmake") or name == "CMakeLists.txt":
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def check_manifests():
    found = list(files("AndroidManifest.xml"))
    expect(len(found) == 3, f"manifests: {found}")
    for name in found:
        manifest = xml.parse(path(name)).getroot()
        expect("package" not in manifest.attrib, f"{name} has package=, which AGP refuses")
        expect(manifest.find("uses-sdk") is None, f"{name} has uses-sdk, which is the script's")
        for activity in manifest.iter("activity"):
            expect(ANDROID + "screenOrientation" not in activity.attrib, f"{name} has screenOrientation")
            source = f"{EXAMPLE}/src/main/kotlin/io/ferry/camera/{activity.get(ANDROID + 'name')[1:]}.kt"
            expect(os.path.exists(path(source)), f"{name}: there is no {source}")
            expect(activity.get(ANDROID + "exported"), f"{name}: exported is required since API 31")


def check_rules():
    """Classes that the native code finds by name."""
    for name in re.findall(r"(?:class|interface) (io\.ferry\.\w+)", read(LIBRARY, "consumer-rules.pro")):
        source = f"{LIBRARY}/src/main/java/{name.replace('.', '/')}.java"
        expect(os.path.exists(path(source)), f"consumer-rules.pro keeps {name}, which does not exist")


scripts = {name: read(name) for name in files(".gradle.kts")}
expect(len(scripts) == 6, f"scripts: {sorted(scripts)}")
check_catalogue(scripts)
check_scripts(scripts)
check_manifests()
check_rules()
print("\n".join(faults) or f"{len(scripts)} Gradle scripts agree with the catalogue and the tree")
sys.exit(1 if faults else 0)
