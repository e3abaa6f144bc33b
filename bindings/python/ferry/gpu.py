# SPDX-License-Identifier: Apache-2.0
"""Checks of a GPU: does it compute a model's kernels right, and each time in the same way?"""
import ctypes
from dataclasses import dataclass
from typing import Tuple

from . import _structs as c
from ._handle import words
from ._library import library


@dataclass(frozen=True)
class KernelCheck:
    """Result of Session.check_kernels()."""

    kernels: int  # different kernels and sizes that the session uses on its GPU
    checked: int  # of these, with a verdict; less than `kernels`: the time was over, and another call goes on
    failures: int  # found wrong by this call; the session uses other kernels or the CPU instead
    replays: int  # runs of kernels by this call


@dataclass(frozen=True)
class AuditedOperator:
    name: str  # the framework's module name
    op: str  # "conv2d"
    shape: str  # of its output, "[1,56,56,64]"
    kernel: str  # the shader variant that ran
    runs: int
    differed: int  # runs whose result differed in a bit from the run that others are compared with
    compared: bool  # with the CPU
    error: float  # largest error against the CPU, as a fraction of what rounding explains; above 1: wrong
    problem: str  # what is wrong with it; "" if nothing is but `differed`


@dataclass(frozen=True)
class AuditedSensor:
    """A temperature or a clock during the audit."""

    name: str
    unit: str  # "C" or "MHz"
    first: float
    lowest: float
    highest: float
    last: float


@dataclass(frozen=True)
class Audit:
    """Result of Model.audit(); true if it passed."""

    passed: bool  # no run differed, none was wrong, and the device was not lost
    seconds: float
    runs: int
    device: str
    driver: str
    lost: str  # why the audit ended early; "" if it did not
    operators: Tuple[AuditedOperator, ...]  # in the order of the network, one for each kernel and size
    sensors: Tuple[AuditedSensor, ...]

    def __bool__(self) -> bool:
        return self.passed


def check_kernels(session, seconds) -> KernelCheck:
    out = c.KernelCheck(struct_size=ctypes.sizeof(c.KernelCheck))
    library().ferry_session_check_kernels(session, seconds, ctypes.byref(out))
    return KernelCheck(out.kernels, out.checked, out.failures, out.replays)


def audit(model, options, seconds, progress) -> Audit:
    """An exception of `progress` is raised at the end: the audit cannot be stopped."""
    failures = []

    def report(_, share):
        try:
            if not failures:
                progress(share)
        except BaseException as error:
            failures.append(error)

    how = c.AuditOptions(struct_size=ctypes.sizeof(c.AuditOptions), seconds=seconds)
    if progress is not None:
        how.progress = c.AUDIT_PROGRESS(report)
    lib, made = library(), ctypes.c_void_p()
    lib.ferry_gpu_audit(model, ctypes.byref(options), ctypes.byref(how), ctypes.byref(made))
    try:
        if failures:
            raise failures[0]
        return _found(lib, made)
    finally:
        lib.ferry_audit_close(made)


def _found(lib, made) -> Audit:
    summary = c.AuditSummary(struct_size=ctypes.sizeof(c.AuditSummary))
    lib.ferry_audit_result(made, ctypes.byref(summary))
    operators, operator = [], c.AuditedOperator()
    for i in range(lib.ferry_audit_operator_count(made)):
        lib.ferry_audit_operator(made, i, ctypes.byref(operator))
        operators.append(AuditedOperator(words(operator.name), words(operator.op), words(operator.shape),
                                         words(operator.kernel), operator.runs, operator.differed, operator.compared,
                                         operator.error, words(operator.problem)))
    sensors, sensor = [], c.AuditedSensor()
    for i in range(lib.ferry_audit_sensor_count(made)):
        lib.ferry_audit_sensor(made, i, ctypes.byref(sensor))
        sensors.append(AuditedSensor(words(sensor.name), words(sensor.unit), sensor.first, sensor.lowest,
                                     sensor.highest, sensor.last))
    return Audit(summary.passed, summary.seconds, summary.runs, words(summary.device), words(summary.driver),
                 words(summary.lost), tuple(operators), tuple(sensors))
