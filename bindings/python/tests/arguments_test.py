# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of any type end with an exception of Python, before they reach C, and change nothing."""
import gc, threading, unittest, warnings

import ferry
import numpy as np
from support import blob, golden, golden_inputs

NAME = "v1_small_classifier"
X = golden_inputs(NAME)["input"]
# Of every type that a caller may confuse with another; none is right where it is passed.
ODD = (None, True, -1, 0, 1 << 31, 1 << 63, 1 << 200, 0.5, float("nan"), 1j, "", "a\0b", "\ud800", b"", b"\xff", (), [], {},
       [[]], {"a": 1}, object(), int, print, X, np.zeros(0), np.zeros((2, 2), object), np.array("x"), range(3))
REFUSALS = (ferry.Error, TypeError, ValueError, OverflowError, OSError, AttributeError, IndexError, KeyError, MemoryError)


class Arguments(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__)
        warnings.simplefilter("ignore")  # NumPy's, about comparisons of arrays with texts

    def refused(self, call, *given, **named):
        """Anything may be refused; whatever is not, must be right."""
        try:
            result = call(*given, **named)
        except REFUSALS:
            return
        if hasattr(result, "close"):
            result.close()

    def attacked(self, owner, *methods, keywords=()):
        for method in methods:
            call = getattr(owner, method)
            for odd in ODD:
                self.refused(call, odd)
                self.refused(call, odd, odd)
                for name in keywords:
                    self.refused(call, **{name: odd})

    def test_models(self):
        for odd in ODD:
            self.refused(ferry.Model, odd)
        with ferry.Model(golden(NAME)) as model:
            self.attacked(model, "graph")
            self.attacked(model, "session", keywords=("backend", "taps", "precision", "device", "memory_limit",
                                                      "gpu_watch"))
            for name in ("seconds", "precision", "graph", "progress", "memory_limit"):
                for odd in ODD:
                    self.refused(model.audit, device="no such device", **{name: odd})
            for threads in ("2", 0.5, None, [1], -1, 257, 1 << 31, 1 << 63, -(1 << 200)):
                self.refused(model.session, threads=threads)
            self.attacked(model, "verify", keywords=("backend", "device"))
            self.assertEqual(len(model.outputs), 1)

    def test_sessions(self):
        with ferry.Model(golden(NAME)) as model, model.session(taps="all") as session:
            before = session.run(X)
            self.attacked(session, "resize", "tap", "set_image", "set_image_at", "top_classes_at", "embedding_at")
            self.attacked(session, "run", keywords=("layout", "input"))
            for array in (X[0], X[None], X[..., :2], X.astype(np.float64), X.astype(object), X.astype(complex), X[:, :0],
                          np.lib.stride_tricks.as_strided(X, (1, 8, 8, 3), (0, 0, 0, 0)), X[:, ::-1], memoryview(X)):
                self.refused(session.run, array)
            session.resize((1, 8, 8, 3))
            np.testing.assert_array_equal(session.run(X), before)

    def test_images(self):
        with ferry.Model(golden(NAME)) as model, model.session() as session:
            pixels = np.zeros((8, 8, 3), np.uint8)
            for image in (pixels[0], pixels[..., :1], pixels[:0], pixels[:, :0], pixels[..., ::-1], pixels[::-1, ::-2],
                          pixels.astype(np.float32), pixels.astype(np.int64), np.zeros((1, 1, 1 << 20), np.uint8)):
                self.refused(session.set_image, image)
            session.set_image(pixels)
            session.run()

    def test_tasks_and_texts(self):
        with ferry.Model(blob("masks")) as model, model.task() as task:
            self.attacked(task, "run", "draw", keywords=("points", "box", "mask", "top", "progress"))
        with ferry.Model(blob("language")) as model:
            with model.text() as text:
                self.attacked(text, "encode", "decode")
            with model.generator() as generator:
                methods = [name for name in dir(generator) if not name.startswith("_") and callable(getattr(generator, name))]
                self.attacked(generator, *(name for name in methods if name not in ("close", "cancel", "save")))

    def test_what_is_closed_or_collected(self):
        model = ferry.Model(golden(NAME))
        session = model.session(taps="all")
        output = session.run(X, copy=False)
        kept = output.copy()
        model.close()
        session.close()
        del model
        gc.collect()
        np.testing.assert_array_equal(output, kept)  # an array keeps the memory that it views
        for call in (session.run, session.embedding, session.cancel, lambda: session.tap("block"), lambda: session.inputs,
                     lambda: session.resize((1, 8, 8, 3)), lambda: session.report, lambda: session.profile):
            self.refused(call)

    def test_closing_while_others_run(self):
        with ferry.Model(golden(NAME)) as model:
            for _ in range(20):
                session = model.session(threads=1)

                def use():
                    for _ in range(10):
                        self.refused(session.run, X)

                threads = [threading.Thread(target=use) for _ in range(3)]
                for thread in threads:
                    thread.start()
                session.close()
                for thread in threads:
                    thread.join()
