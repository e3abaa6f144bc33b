"""The one table, and what went wrong below it."""
from measure import number
from transports.base import size_text

HEAD = ("device", "model", "on", "kernels", "parity, worst stage", "from host", "program + blob", "memory", "time")


def kernels_of(row):
    bench = row.get("bench")
    if bench is None:
        return ""
    if row["backend"] == "gpu":
        return bench["device"].split(" (")[0]  # without the versions of a software driver's components
    if "kernels" not in bench:
        return "not reported by this version"
    return f"{bench['kernels']} ({bench['fingerprint'][:8]})"


def parity_of(row):
    verdict = row.get("verify")
    if verdict is None:
        return "not known"
    error = number(verdict["error"])
    if not verdict["passed"]:
        return f"OUT: {error} at {verdict['stage']}"
    return f"{verdict['stages']} ok, {error} at {verdict['stage']}"


def cells(device, row):
    bench = row.get("bench")
    away = row.get("apart")
    time = f"{bench['median_ms']:7.1f} ms{' *emulated*' * device['emulated']}" if bench else ""
    program = size_text(device["program_bytes"]) + " + " if device["program_bytes"] else ""
    return (device["device"], row["model"], row["backend"], kernels_of(row), parity_of(row),
            number(away["relative"]) if away else "",
            program + size_text(row["blob_bytes"]), size_text(bench["peak_rss_bytes"]) if bench else "", time)


def in_bounds(devices):
    """What the table comes to where nothing is wrong."""
    count = sum(len(device["results"]) for device in devices)
    emulated = any(device["emulated"] for device in devices)
    return (f"in bounds: {count} of {count}, and all answer what this machine does" +
            ("; times of emulated devices are no figures" if emulated else ""))


def text_of(report):
    rows, faults = [HEAD], []
    for device in report["devices"]:
        rows += [cells(device, row) for row in device["results"]]
        faults += [f"MODEL   {row['model']} on {device['device']}, {row['backend']}: {row['fault']['sentence']}"
                   for row in device["results"] if row["fault"]]
        if device["fault"]:
            rows += [] if device["results"] else [(device["device"], "-", *[""] * (len(HEAD) - 2))]
            faults.append(f"{device['fault']['kind'].upper():6}  {device['fault']['sentence']}")
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([*lines, "", *(faults or [in_bounds(report["devices"])])])
