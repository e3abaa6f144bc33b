# SPDX-License-Identifier: Apache-2.0
"""Models and sessions: descriptions, results, and errors."""
import gc, os, tempfile, threading, unittest, weakref

import ferry
import numpy as np
from support import ROOT, blob, golden, golden_inputs, golden_numbers

X = golden_inputs("v1_small_classifier")["input"]


def numbers(answer):
    """Results as an array: of classes by index, or of an embedding."""
    if isinstance(answer, np.ndarray):
        return answer
    return np.array([c.probability for c in sorted(answer, key=lambda c: c.index)])


class Numbers(unittest.TestCase):
    def test_golden_blobs_give_the_oracles_numbers(self):
        for name in ("v1_small_classifier", "v1_small_upscaler", "v1_small_mixture", "v2_small_integers",
                     "v2_small_transformer"):
            with self.subTest(name), ferry.Model(golden(name)) as model, model.session(threads=2) as session:
                out = session.run(golden_inputs(name))
                expected = golden_numbers(name)
                out = out if isinstance(out, dict) else {model.outputs[0].name: out}
                self.assertEqual(out.keys(), expected.keys())
                for key, values in out.items():
                    self.assertEqual(values.shape, {o.name: o.shape for o in model.outputs}[key])
                    error = np.abs(values.ravel() - expected[key]).max()
                    self.assertLessEqual(error, 1e-5 * np.abs(expected[key]).max())

    def test_inputs_are_given_in_order_by_name_or_in_a_dict(self):
        given = golden_inputs("v1_small_mixture")
        with ferry.Model(golden("v1_small_mixture")) as model, model.session() as session:
            in_order = session.run(given["a"], given["b"])
            session.run(given["b"], given["a"])
            for out in (session.run(b=given["b"], a=given["a"]), session.run(given)):
                np.testing.assert_array_equal(out["sums"], in_order["sums"])

    def test_the_frameworks_layout_is_turned_both_ways(self):
        x = golden_inputs("v1_small_upscaler")["input"]
        with ferry.Model(golden("v1_small_upscaler")) as model, model.session(taps="all") as session:
            here = session.run(x)
            there = session.run(np.ascontiguousarray(x.transpose(0, 3, 1, 2)), layout="framework")
            np.testing.assert_array_equal(there, here.transpose(0, 3, 1, 2))
            self.assertEqual(model.inputs[0].framework_shape, (1, 3, 6, 7))
            tap = session.tap("body.1")
            np.testing.assert_array_equal(session.tap("body.1", layout="framework"), tap.transpose(0, 3, 1, 2))

    def test_arrays_of_any_strides_are_read(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            np.testing.assert_array_equal(session.run(np.asfortranarray(X)), session.run(X))
            np.testing.assert_array_equal(session.run(X[:, ::-1, ::-1]), session.run(X[:, ::-1, ::-1].copy()))

    def test_inputs_keep_what_they_held(self):
        given = golden_inputs("v1_small_mixture")
        with ferry.Model(golden("v1_small_mixture")) as model, model.session() as session:
            first = session.run(given)["sums"]
            np.testing.assert_array_equal(session.run()["sums"], first)
            self.assertTrue((session.run(a=0 * given["a"])["sums"] != first).any())

    def test_states_remember_runs_until_they_are_reset(self):
        ids = golden_inputs("v2_small_transformer")
        with ferry.Model(golden("v2_small_transformer")) as model, model.session() as session:
            first, second = session.run(ids), session.run(ids)
            self.assertEqual(session.length, 6)
            self.assertTrue((first != second).any())
            session.reset()
            self.assertEqual(session.length, 0)
            np.testing.assert_array_equal(session.run(ids), first)
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            with self.assertRaises(ferry.Error) as raised:
                session.reset()
            self.assertEqual(raised.exception.status, "NOT_FOUND")

    def test_another_size_is_another_batch(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            one = session.run(X)
            session.resize((3, 8, 8, 3))
            self.assertEqual(session.inputs[0].shape, (3, 8, 8, 3))
            self.assertEqual(session.outputs[0].shape, (3, 5))
            np.testing.assert_allclose(session.run(np.repeat(X, 3, 0)), np.repeat(one, 3, 0), rtol=1e-6)
            session.resize(input=X.shape)
            np.testing.assert_array_equal(session.run(X), one)


class Description(unittest.TestCase):
    def test_a_model_says_what_it_is(self):
        with ferry.Model(golden("v1_small_classifier")) as model:
            self.assertEqual(model.name, "small_classifier")
            self.assertEqual(model.task_name, "classification")
            self.assertEqual(model.labels, ["barge", "ferry", "kayak", "liner", "raft"])
            self.assertEqual([tap.name for tap in model.taps], ["block", "features", "pooled"])
            self.assertEqual(model.inputs, [ferry.TensorInfo("input", (1, 8, 8, 3), np.dtype("float32"), True)])
            self.assertEqual(model.outputs, [ferry.TensorInfo("logits", (1, 5), np.dtype("float32"), False)])
        with ferry.Model(golden("v2_small_transformer")) as model:
            self.assertEqual(model.graphs, ["small_transformer", "states"])
            with model.graph("states") as other, model.session(graph="states") as session:
                self.assertEqual([o.name for o in other.outputs], [o.name for o in session.outputs])
            self.assertEqual(ferry.Model(golden("v2_small_integers")).inputs[0].dtype, np.int32)

    def test_a_session_says_where_and_how_long_it_ran(self):
        options = {"profile": True, "taps": ["block"]}
        with ferry.Model(golden("v1_small_classifier")) as model, model.session(**options) as session:
            session.run(X)
            report = session.report
            self.assertEqual((report.backend, report.gpu_status, report.cpu_operators), ("cpu", "OK", 8))
            self.assertGreater(report.arena_bytes, 5000)
            self.assertEqual(sorted(entry.op for entry in session.profile),
                             ["binary", "conv2d", "conv2d", "conv2d", "linear", "pool2d", "pool2d", "reduce"])
            self.assertEqual(session.taps, ["block"])

    def test_a_session_keeps_to_the_cores_that_it_is_given(self):
        cpu = max(os.sched_getaffinity(0))
        with ferry.Model(golden("v1_small_classifier")) as model:
            with model.session(cores={cpu}) as session:
                self.assertEqual((session.report.cpus, session.report.threads), (str(cpu), 1))
            with model.session(cores="all", threads=2) as session:
                self.assertEqual(session.report.threads, 2)
            for wrong in ("big", {-1}, {1024}):
                with self.assertRaises(ValueError):
                    model.session(cores=wrong)
            with self.assertRaises(ferry.Error) as raised:
                model.session(cores=())
            self.assertEqual(raised.exception.status, "INVALID_ARGUMENT")

    def test_a_gpu_that_is_not_there_is_said_or_refused(self):
        with ferry.Model(golden("v1_small_classifier")) as model:
            with model.session(backend="gpu", device="no such device") as session:
                self.assertEqual((session.report.backend, session.report.gpu_status), ("cpu", "GPU_UNAVAILABLE"))
            with self.assertRaises(ferry.Error) as raised:
                model.session(backend="gpu", device="no such device", gpu_required=True)
            self.assertEqual(raised.exception.status, "GPU_UNAVAILABLE")

    def test_a_gpu_computes_what_the_cpu_does(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session(backend="gpu") as session:
            if session.report.backend != "gpu":
                self.skipTest(session.report.message)
            expected = golden_numbers("v1_small_classifier")["logits"]
            np.testing.assert_allclose(session.run(X).ravel(), expected, atol=1e-4)
            self.assertNotEqual(session.report.device, "")
            with model.session(backend="gpu", precision="float16") as half:
                np.testing.assert_allclose(half.run(X).ravel(), expected, atol=1e-2)
                self.assertEqual(half.report.precision, "float16")

    def test_a_gpu_is_checked_at_the_sessions_sizes(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session(backend="gpu") as session:
            if session.report.backend != "gpu":
                self.skipTest(session.report.message)
            before = session.run(X)
            found = session.check_kernels()
            self.assertGreater(found.kernels, 0)
            self.assertEqual((found.checked, found.failures), (found.kernels, 0))
            self.assertGreaterEqual(found.replays, 128 * found.kernels)
            self.assertEqual(session.check_kernels(seconds=1).replays, 0, "each has a verdict")
            np.testing.assert_array_equal(session.run(X), before)

    def test_a_gpu_is_watched_while_it_runs(self):
        with ferry.Model(golden("v1_small_classifier")) as model:
            for watch, watched in ((1, True), (0, False)):
                with model.session(backend="gpu", gpu_watch=watch) as session:
                    if session.report.backend != "gpu":
                        self.skipTest(session.report.message)
                    for _ in range(40):
                        session.run(X)
                    self.assertEqual((session.report.watched_runs > 0, session.report.backend), (watched, "gpu"))
            with self.assertRaises(ferry.Error) as raised:
                model.session(backend="gpu", gpu_watch=2)
            self.assertEqual(raised.exception.status, "INVALID_ARGUMENT")

    def test_an_audit_names_every_kernel(self):
        with ferry.Model(golden("v1_small_classifier")) as model:
            shares = []
            try:
                audit = model.audit(progress=shares.append)
            except ferry.Error as error:
                self.skipTest(str(error))
            self.assertTrue(audit and audit.device and not audit.lost)
            self.assertEqual(audit.runs, sum(operator.runs for operator in audit.operators))
            self.assertIn("conv2d", [operator.op for operator in audit.operators])
            for operator in audit.operators:
                self.assertEqual((operator.differed, operator.problem), (0, ""))
                self.assertTrue(operator.runs > 0 and operator.compared and operator.error <= 1 and operator.kernel)
            self.assertTrue(shares and shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1)

            def fails(share):
                raise KeyError(share)
            with self.assertRaises(KeyError):
                model.audit(progress=fails)

    def test_checks_of_a_gpu_need_one(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            for call in (session.check_kernels, lambda: model.audit(device="no such device")):
                with self.assertRaises(ferry.Error) as raised:
                    call()
                self.assertEqual(raised.exception.status, "GPU_UNAVAILABLE")


class Images(unittest.TestCase):
    def test_paths_arrays_and_pil_images_are_the_same_image(self):
        pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            session.set_image(pixels)
            logits = session.run()
            session.set_image(pixels[:, ::-1][:, ::-1])  # with other strides
            np.testing.assert_array_equal(session.run(), logits)
            best = session.top_classes(2)
            softmax = np.exp(logits[0]) / np.exp(logits[0]).sum()
            self.assertEqual([c.index for c in best], list(np.argsort(-softmax)[:2]))
            self.assertAlmostEqual(best[0].probability, softmax.max(), places=6)
            self.assertEqual(best[0].label, model.labels[best[0].index])
            try:
                from PIL import Image
            except ImportError:
                self.skipTest("PIL is not installed (python3-pil)")
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "image.png")
                Image.fromarray(pixels).save(path)
                for image in (path, Image.fromarray(pixels), Image.fromarray(pixels).convert("RGBA")):
                    session.set_image(image)
                    np.testing.assert_array_equal(session.run(), logits)

    def test_a_batch_has_a_place_for_each_image_and_an_answer_of_each(self):
        images = np.random.default_rng(1).integers(0, 256, (3, 30, 40, 3), np.uint8)
        for name, alone, together in (
                ("classifier", lambda s: s.top_classes(5), lambda s, i: s.top_classes_at(i, 5)),
                ("embedder", lambda s: s.embedding(), lambda s, i: s.embedding_at(i))):
            with self.subTest(name), ferry.Model(blob(name)) as model, model.session() as session:
                expected = []
                for image in images:
                    session.set_image(image)
                    session.run()
                    expected.append(alone(session))
                self.assertFalse(np.array_equal(numbers(expected[0]), numbers(expected[1])))
                session.resize((3, *session.inputs[0].shape[1:]))
                self.refused(lambda: together(session, 0), "INVALID_ARGUMENT")  # not run since
                for i in (2, 0, 1):
                    session.set_image_at(i, images[i])
                session.run()
                for i in range(3):
                    np.testing.assert_allclose(numbers(together(session, i)), numbers(expected[i]), rtol=1e-5)
                self.refused(lambda: alone(session), "INVALID_ARGUMENT")
                self.refused(lambda: session.set_image(images[0]), "INVALID_ARGUMENT")
                self.refused(lambda: session.set_image_at(3, images[0]), "INVALID_ARGUMENT")
                self.refused(lambda: together(session, 3), "INVALID_ARGUMENT")
                for call in (lambda: together(session, -1), lambda: session.set_image_at(-1, images[0])):
                    self.assertRaisesRegex(ValueError, "counted from 0", call)

    def test_files_that_are_no_images_have_statuses_of_their_own(self):
        with open(os.path.join(ROOT, "examples", "data", "grace_hopper.png"), "rb") as file:
            png = file.read()
        with tempfile.TemporaryDirectory() as folder, ferry.Model(blob("classifier")) as model, \
                model.session() as session:
            large = png[:16] + (20000).to_bytes(4, "big") + (16000).to_bytes(4, "big") + png[24:]  # the header's sides
            for data, status in ((b"GIF89a..", "NOT_AN_IMAGE"), (png[: len(png) // 2], "IMAGE_DAMAGED"),
                                 (large, "IMAGE_TOO_LARGE")):
                path = os.path.join(folder, "image")
                with open(path, "wb") as file:
                    file.write(data)
                self.refused(lambda: session.set_image(path), status)

    def refused(self, call, status):
        with self.assertRaises(ferry.Error) as raised:
            call()
        self.assertEqual(raised.exception.status, status)

    def test_what_is_no_image_is_refused(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            for image, error in ((np.zeros((4, 4, 3)), TypeError), (np.zeros((4, 4), np.uint8), ValueError),
                                   (np.zeros((4, 4, 4), np.uint8), ValueError),
                                   (np.zeros((0, 4, 3), np.uint8), ValueError), ([[0]], TypeError),
                                   ("absent.png", ferry.Error)):
                with self.assertRaises(error):
                    session.set_image(image)


class Refused(unittest.TestCase):
    def setUp(self):
        self.model = ferry.Model(golden("v1_small_classifier"))
        self.session = self.model.session()
        self.addCleanup(self.model.close)
        self.addCleanup(self.session.close)

    def refused(self, error, words, call, *arguments, **named):
        with self.assertRaises(error) as raised:
            call(*arguments, **named)
        self.assertIn(words, str(raised.exception))
        return raised.exception

    def test_arrays_that_do_not_fit(self):
        run = self.session.run
        self.refused(TypeError, "input 'input' is float32, the array is float64", run, X.astype(float))
        self.refused(TypeError, "the array is >f4", run, X.astype(">f4"))
        self.refused(ValueError, "1x8x8x3, the array is 1x4x8x3: resize()", run, X[:, :4])
        self.refused(ValueError, "the layout of the framework", run, X.transpose(0, 3, 1, 2))
        self.refused(ValueError, "the layout of ferry", run, X, layout="framework")
        self.refused(ValueError, "the array is a scalar", run, np.float32(3))
        self.refused(ValueError, "layout is 'nchw'", run, X, layout="nchw")
        self.refused(TypeError, "2 inputs were given, the network takes 1: input", run, X, X)
        self.refused(TypeError, "no input is called 'pixels': there is input", run, pixels=X)
        self.refused(TypeError, "'input' was given twice", run, X, input=X)

    def test_nothing_is_written_where_one_array_does_not_fit(self):
        given = golden_inputs("v1_small_mixture")
        with ferry.Model(golden("v1_small_mixture")) as model, model.session() as session:
            before = session.run(given)["sums"]
            self.refused(ValueError, "", session.run, a=0 * given["a"], b=given["b"][:, 1:])
            np.testing.assert_array_equal(session.run()["sums"], before)

    def test_sizes_that_the_network_or_the_library_does_not_take(self):
        error = self.refused(ferry.Error, "", self.session.resize, (1, 8, 8, 4))
        self.assertEqual(error.status, "SHAPE_MISMATCH")
        for shape in ((1, 8, 0, 3), (1,) * 7, (1, 8, -8, 3), (2**40, 8, 8, 3)):
            self.refused(ValueError, "at most 6 dimensions", self.session.resize, shape)
        self.session.run(X)  # the shape is unchanged

    def test_options_that_there_are_not(self):
        session = self.model.session
        self.refused(ValueError, "backend is 'cuda': must be 'cpu' or 'gpu'", session, backend="cuda")
        self.refused(ValueError, "precision is 16: must be 'float32' or 'float16'", session, precision=16)
        self.refused(ValueError, "threads is 4294967297", session, threads=2**32 + 1)
        self.refused(ValueError, "memory_limit is -1", session, memory_limit=-1)
        self.assertEqual(self.refused(ferry.Error, "'nope'", session, taps=["nope"]).status, "NOT_FOUND")
        self.assertEqual(self.refused(ferry.Error, "", session, graph="nope").status, "NOT_FOUND")
        self.assertEqual(self.refused(ferry.Error, "", session, memory_limit=100).status, "MEMORY_LIMIT")
        self.assertEqual(self.refused(ferry.Error, "", self.session.tap, "block").status, "NOT_FOUND")

    def test_files_that_are_no_blobs(self):
        self.assertEqual(self.refused(ferry.Error, "absent.ferry", ferry.Model, "absent.ferry").status, "IO_ERROR")
        self.assertEqual(self.refused(ferry.Error, "", ferry.Model, __file__).status, "NOT_A_BLOB")
        self.refused(ValueError, "NUL", ferry.Model, "a\0b")
        with tempfile.NamedTemporaryFile() as file, open(golden("v1_small_classifier"), "rb") as whole:
            file.write(whole.read()[:-100])
            file.flush()
            self.assertEqual(self.refused(ferry.Error, "", ferry.Model, file.name).status, "CORRUPT")

    def test_use_after_close(self):
        session = self.model.session(taps="all")
        self.model.close()
        session.run(X)  # it keeps the model alive
        session.close()
        session.close()
        for call in (session.run, session.cancel, lambda: session.tap("block"), lambda: session.report,
                     lambda: session.inputs, lambda: session.resize(X.shape), session.top_classes):
            self.refused(ValueError, "this session is closed", call)
        for call in (self.model.session, self.model.task, self.model.verify, lambda: self.model.inputs,
                     lambda: self.model.graph("x"), lambda: self.model.name):
            self.refused(ValueError, "this model is closed", call)


class Memory(unittest.TestCase):
    def test_results_are_copies_unless_asked_otherwise(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            first, view = session.run(X), session.run(X, copy=False)
            kept = first.copy()
            self.assertFalse(view.flags.writeable)
            self.assertFalse(view.flags.owndata)
            second = session.run(X + 1)
            np.testing.assert_array_equal(first, kept)
            np.testing.assert_array_equal(view, second)  # overwritten by the next run, as documented

    def test_views_outlive_their_session(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session(taps="all") as session:
            expected = session.run(X), session.tap("block")
            views = session.run(X, copy=False)[:, 1:], session.tap("block", copy=False, layout="framework")
            whole = session.tap("block", copy=False)
        del model, session
        gc.collect()
        np.testing.assert_array_equal(views[0], expected[0][:, 1:])
        np.testing.assert_array_equal(views[1], expected[1].transpose(0, 3, 1, 2))
        self.assertEqual(whole.tobytes(), expected[1].tobytes())  # by memcpy, which AddressSanitizer sees

    def test_memory_under_views_is_not_moved(self):
        with ferry.Model(golden("v1_small_classifier")) as model, model.session() as session:
            view = session.run(X, copy=False)
            for call in (lambda: session.resize(X.shape), lambda: session.set_image(np.zeros((9, 9, 3), np.uint8))):
                with self.assertRaises(BufferError):
                    call()
            del view
            session.resize(X.shape)

    def test_what_is_left_open_is_closed_by_the_collector(self):
        session = ferry.Model(golden("v1_small_classifier")).session()
        handle = weakref.ref(session._handle)
        del session
        self.assertIsNone(handle())


class Threads(unittest.TestCase):
    def test_sessions_run_side_by_side_and_one_session_in_turns(self):
        inputs = [X * k for k in range(1, 9)]
        with ferry.Model(golden("v1_small_classifier")) as model:
            with model.session(threads=1) as session:
                expected = [session.run(x) for x in inputs]
            for shared in (None, model.session(threads=1)):
                failures = []

                def work(k):
                    try:
                        own = shared or model.session(threads=1)
                        for _ in range(200):
                            np.testing.assert_array_equal(own.run(inputs[k]), expected[k])
                    except BaseException as error:
                        failures.append(error)

                threads = [threading.Thread(target=work, args=[k]) for k in range(len(inputs))]
                [thread.start() for thread in threads]
                [thread.join() for thread in threads]
                self.assertEqual(failures, [])

    def test_a_close_waits_for_the_run(self):
        with ferry.Model(golden("v1_small_classifier")) as model:
            for _ in range(20):
                session, ends = model.session(threads=1), []

                def work():
                    while not ends:
                        try:
                            session.run(X)
                        except ferry.Error as error:  # the run was cancelled
                            self.assertEqual(error.status, "CANCELLED")
                        except ValueError as error:
                            ends.append(str(error))

                thread = threading.Thread(target=work)
                thread.start()
                session.cancel()
                session.close()
                thread.join()
                self.assertEqual(ends, ["this session is closed"])

    def test_a_run_can_be_cancelled(self):
        with ferry.Model(blob("upscaler")) as model, model.session(threads=1) as session:
            session.resize((1, 1500, 1500, 3))  # takes long enough to be cancelled
            done = threading.Event()

            def cancel():
                while not done.wait(0.001):
                    session.cancel()

            thread = threading.Thread(target=cancel)
            thread.start()
            try:
                with self.assertRaises(ferry.Error) as raised:
                    session.run()
            finally:
                done.set()
                thread.join()
            self.assertEqual(raised.exception.status, "CANCELLED")


if __name__ == "__main__":
    unittest.main()
