"""Whose fault it is. A runner that mixes these up sends people to look for wrong kernels where a cable was loose."""


class Usage(Exception):
    """What was asked for cannot be done, on whatever device."""


class DeviceFault(Exception):
    """The device, or the way to it: says nothing of the model."""


class ModelFault(Exception):
    """The command ran on the device, but its result is wrong or missing."""
