# SPDX-License-Identifier: Apache-2.0
"""Tasks over networks with predictable answers (tests/support/task_networks.h)."""
import os, tempfile, threading, unittest

import ferry
import numpy as np
from support import blob

RAMP = np.zeros((10, 20, 3), np.uint8)
RAMP[:, :, 0] = 10 * np.arange(20)

# Left half red, right half a brighter green.
HALVES = np.zeros((32, 64, 3), np.uint8)
HALVES[:, :32, 0], HALVES[:, 32:, 1] = 200, 250


class Answers(unittest.TestCase):
    def open(self, name):
        model = ferry.Model(blob(name))
        task = model.task()
        model.close()
        self.addCleanup(task.close)
        return task

    def test_classes_are_those_of_a_session(self):
        image = np.random.default_rng(1).integers(0, 256, (14, 20, 3), np.uint8)
        answer = self.open("classifier").run(image, top=3)
        self.assertEqual(answer.kind, "classes")
        with ferry.Model(blob("classifier")) as model, model.session() as session:
            session.set_image(image)
            session.run()
            self.assertEqual(answer.classes, session.top_classes(3))

    def test_depth_is_a_map_with_what_its_numbers_say(self):
        answer = self.open("depth").run(RAMP)
        self.assertEqual((answer.kind, answer.metres), ("map", False))
        np.testing.assert_allclose(answer.map, RAMP[:, :, 0] / 255, atol=1e-6)

    def test_labels_have_a_legend_by_share(self):
        image = np.zeros((64, 96, 3), np.uint8)
        image[:, :72], image[:, 72:] = (200, 10, 20), (0, 40, 180)
        answer = self.open("labels").run(image)
        self.assertEqual([c.label for c in answer.classes], ["red", "blue"])
        self.assertEqual((answer.labels.shape, answer.labels.dtype), ((64, 96), np.uint16))
        self.assertTrue((answer.labels[:, :68] == 0).all() and (answer.labels[:, 76:] == 2).all())
        self.assertAlmostEqual(answer.classes[0].probability, (answer.labels == 0).mean(), places=6)

    def test_only_what_the_mask_covers_is_painted(self):
        hole = np.zeros((10, 20), bool)
        hole[3:6, 12:15] = True
        painted = np.where(hole[:, :, None], 128, RAMP)
        task = self.open("painter")
        levels = np.where(hole, 128, 127).astype(np.uint8)
        for mask in (hole, levels, np.repeat(levels[:, :, None], 3, 2)):
            np.testing.assert_array_equal(task.run(RAMP, mask=mask).image, painted)

    def test_prompts_choose_a_mask_and_the_image_is_kept(self):
        task = self.open("masks")

        def covers(mask):
            left, right = mask[:28, :28], mask[:28, 37:]
            self.assertEqual((mask.shape, mask.dtype), ((32, 64), np.uint8))
            self.assertTrue((left == left[0, 0]).all() and (right == right[0, 0]).all())
            return left[0, 0], right[0, 0]

        answer = task.run(HALVES, points=[(50, 10)])
        self.assertEqual(covers(answer.mask), (0, 255))
        self.assertAlmostEqual(answer.quality, 250 / 255 / 4, places=3)
        self.assertEqual(covers(task.run(points=[(50, 10), (5, 5, False)]).mask), (255, 0))
        self.assertEqual(covers(task.run(points=[(50, 10), (5, 5, False)], mask_index=2).mask), (0, 255))
        self.assertEqual(covers(task.run(box=(1, 1, 60, 30)).mask), (255, 0))
        self.assertEqual(covers(task.run(points=np.array([[50, 10]])).mask), (0, 255))

    def test_a_matte_is_soft(self):
        image = np.zeros((4, 9, 3), np.uint8)
        image[:, :4, 0], image[:, 4, 0] = 255, 128
        mask = self.open("matte").run(image).mask
        self.assertEqual((mask[1, 0], mask[1, 8]), (255, 0))
        self.assertAlmostEqual(mask[1, 4], 255 / (1 + np.exp(-32 * (128 / 255 - 0.5))), delta=1)

    def test_boxes_have_labels_and_landmarks(self):
        image = np.zeros((4, 8, 3), np.uint8)  # in 250ths, a box per row: tests/support/task_networks.h
        image[0, :4, 0], image[0, :2, 1], image[0, :4, 2] = (10, 0, 110, 100), (200, 0), (5, 10, 15, 20)
        task = self.open("boxes")
        found, = task.run(image).boxes
        self.assertEqual((found.index, found.label), (0, "red"))
        self.assertAlmostEqual(found.score, 200 / 250, places=6)
        np.testing.assert_allclose(found.box, (8 * 10 / 250, 0, 8 * 110 / 250, 4 * 100 / 250), atol=1e-4)
        landmarks = (8 * 5 / 250, 4 * 10 / 250), (8 * 15 / 250, 4 * 20 / 250)
        np.testing.assert_allclose(found.landmarks, landmarks, atol=1e-4)
        drawn = task.draw(image)
        self.assertEqual(drawn.shape, image.shape)
        self.assertTrue((drawn != image).any())
        self.assertEqual(task.run(np.zeros((4, 8, 3), np.uint8)).boxes, [])

    def test_landmarks_have_names_scores_and_lines(self):
        image = np.zeros((40, 80, 3), np.uint8)
        image[:, :, 0], image[:, :, 2] = 255, 9
        answer = self.open("points").run(image)
        found, = answer.boxes
        self.assertEqual(found.label, "blue")
        np.testing.assert_allclose(found.landmarks, [(20, 5), (30, 15), (40, 25)], atol=1e-4)
        np.testing.assert_allclose(found.landmark_scores, [1, 1, 0.25])
        self.assertEqual(answer.landmark_names, ["first", "middle", "last"])
        self.assertEqual(answer.landmark_lines.tolist(), [[0, 1], [1, 2]])

    def test_lines_have_text_and_corners(self):
        page = np.zeros((100, 210, 3), np.uint8)
        page[40:58, 45:165, 0], page[40:58, 45:135, 1], page[40:58, 135:165, 2] = 255, 230, 230
        line, = self.open("reader").run(page).lines
        self.assertEqual(line.text, "gb")
        np.testing.assert_allclose(line.corners, [(45, 40), (165, 40), (165, 58), (45, 58)], atol=1)

    def test_an_image_comes_back_upscaled_and_progress_is_reported(self):
        calls, task = [], self.open("upscaler")
        answer = task.run(np.zeros((40, 50, 3), np.uint8), tile=16, progress=lambda *parts: calls.append(parts))
        self.assertEqual((answer.kind, answer.image.shape), ("image", (80, 100, 3)))
        self.assertEqual(calls[-1][0], calls[-1][1])
        self.assertGreater(len(calls), 1)
        self.assertEqual(task.report.backend, "cpu")

    def test_answers_are_saved(self):
        task = self.open("depth")
        answer = task.run(RAMP)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "depth")
            task.save(path + ".pfm")
            with open(path + ".pfm", "rb") as file:
                self.assertEqual(file.read(12), b"Pf\n20 10\n-1.")
            for style in ("plain", "colours", "16bit"):
                task.save(path + style + ".png", style)
                self.assertTrue(os.path.getsize(path + style + ".png"))
            with self.assertRaises(ValueError):
                task.save(path, "blue")
            with self.assertRaises(ferry.Error):
                task.save(os.path.join(folder, "absent", "depth.png"))
        self.assertEqual(answer.map.shape, (10, 20))  # a copy


class Refused(unittest.TestCase):
    def refused(self, name, error, words, *arguments, **named):
        with ferry.Model(blob(name)) as model, model.task() as task:
            with self.assertRaises(error) as raised:
                task.run(*arguments, **named)
            self.assertIn(words, str(raised.exception))
            with self.assertRaises(ValueError):
                task.draw(RAMP)  # there is no answer

    def test_prompts_that_are_missing_or_do_not_fit(self):
        self.refused("painter", ferry.Error, "no mask", RAMP)
        self.refused("painter", ferry.Error, "one size", RAMP, mask=np.zeros((3, 3), bool))
        self.refused("masks", ferry.Error, "", HALVES)
        self.refused("masks", ferry.Error, "", HALVES, points=[(500, 10)])
        self.refused("masks", ferry.Error, "", HALVES, points=[(float("nan"), 10)])
        self.refused("masks", ValueError, "a point is (x, y)", HALVES, points=[(1, 2, 3, 4)])
        self.refused("masks", ValueError, "a box is (left, top", HALVES, box=(1, 2))
        self.refused("masks", ferry.Error, "", points=[(5, 5)])  # there is no last image
        self.refused("depth", ferry.Error, "request.image")
        self.refused("classifier", ValueError, "top is -1", RAMP, top=-1)
        self.refused("depth", TypeError, "uint8", RAMP / 255)
        self.refused("painter", TypeError, "uint8", RAMP, mask=np.zeros((10, 20)))

    def test_models_without_a_task(self):
        with ferry.Model(blob("language")) as model, self.assertRaises(ferry.Error) as raised:
            model.task()
        self.assertEqual(raised.exception.status, "UNSUPPORTED")

    def test_what_a_callback_raises_ends_the_run(self):
        class Enough(Exception):
            pass

        calls = []

        def progress(done, total):
            calls.append(done)
            raise Enough

        with ferry.Model(blob("upscaler")) as model, model.task() as task:
            with self.assertRaises(Enough):
                task.run(np.zeros((64, 64, 3), np.uint8), tile=16, progress=progress)
            self.assertEqual(len(calls), 1)
            for use in (lambda: task.run(RAMP), task.close, lambda: task.report):
                with self.assertRaises(RuntimeError):
                    task.run(np.zeros((64, 64, 3), np.uint8), tile=16, progress=lambda *_: use())
            task.run(RAMP)

    def test_a_run_can_be_cancelled_and_a_closed_task_is_not_run(self):
        model = ferry.Model(blob("upscaler"))
        task = model.task()
        started = threading.Event()
        thread = threading.Thread(target=lambda: (started.wait(), task.cancel()))
        thread.start()
        with self.assertRaises(ferry.Error) as raised:
            task.run(np.zeros((256, 256, 3), np.uint8), tile=16, progress=lambda *_: (started.set(), thread.join()))
        self.assertEqual(raised.exception.status, "CANCELLED")
        task.close()
        for call in (lambda: task.run(RAMP), task.cancel, lambda: task.save("x.png"), lambda: task.draw(RAMP)):
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    unittest.main()
