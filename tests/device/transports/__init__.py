"""How a device is reached. Every transport has the same few methods: base.py, `Transport`."""
from transports.adb import Adb
from transports.local import Host, QemuUser
from transports.qemu_system import QemuSystem
from transports.ssh import Ssh

QEMU_USER_CPUS = ("cortex-a53", "cortex-a76", "max")  # plain NEON; dot product and float16; 8-bit matrices too
__all__ = ["Adb", "Host", "QEMU_USER_CPUS", "QemuSystem", "QemuUser", "Ssh"]
