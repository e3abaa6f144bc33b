# SPDX-License-Identifier: Apache-2.0
"""Ferry from Python: runs models of `ferry convert` on NumPy arrays, and compares them with PyTorch.

    import ferry

    with ferry.Model("resnet50.ferry") as model, model.session() as session:
        session.set_image("cat.jpg")
        session.run()
        print(session.top_classes(3))

docs/python.md is the manual. The library raises ferry.Error; wrong arguments, and the use of closed objects, raise
TypeError or ValueError. `ferry.__version__` is the version of the library.
"""
from ._library import Error, version
from .gpu import Audit, AuditedOperator, AuditedSensor, KernelCheck
from .model import Model, TensorInfo, Verification
from .parity import Comparison, Stage, verify
from .recording import fixture
from .session import Classification, ProfileEntry, Report, Session
from .task import Answer, Detection, Line, Task
from .text import Generator, Text

__all__ = ["Answer", "Audit", "AuditedOperator", "AuditedSensor", "Classification", "Comparison", "Detection",
           "Error", "Generator", "KernelCheck", "Line", "Model", "ProfileEntry", "Report", "Session", "Stage", "Task", "TensorInfo", "Text", "Verification", "fixture", "verify", "version"]


def __getattr__(name):
    if name == "__version__":  # when asked for: importing the package does not load the library
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
