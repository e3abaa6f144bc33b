# SPDX-License-Identifier: Apache-2.0
"""Text over a small language model of bytes (tests/support/language_model.h)."""
import json, os, re, tempfile, unittest

import ferry
import numpy as np
from ferry import _structs
from support import ROOT, blob, command


class Language(unittest.TestCase):
    def setUp(self):
        self.model = ferry.Model(blob("language"))
        self.addCleanup(self.model.close)


class Tokens(Language):
    def test_texts_become_ids_and_texts_again(self):
        with self.model.text() as text:
            bytes = lambda words: [3 + b for b in words.encode()]
            self.assertEqual(text.encode("ab", special=False), bytes("ab"))
            self.assertEqual(text.encode("ab"), [1, *bytes("ab")])
            self.assertEqual(text.encode("", special=False), [])
            self.assertEqual(text.decode(bytes("größer")), "größer")
            self.assertEqual(text.decode([]), "")
            self.assertEqual(text.decode([3 + 0xC3]), "\ufffd")
            self.assertEqual(text.decode(text.encode("a\0b", special=False)), "a\0b")

    def test_conversations_are_written_by_the_blobs_template(self):
        messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
        with self.model.text() as text:
            self.assertEqual(text.render(messages), "user: hi\nassistant: ho\nthe ")
            self.assertEqual(text.render(messages, add_generation_prompt=False), "user: hi\nassistant: ho\n")
            self.assertEqual(text.render({"messages": messages}), text.render(messages, add_generation_prompt=False))

    def test_plain_conversations_need_no_json(self):
        messages = [{"role": "user", "content": "hi \"there\""}]
        with self.model.text() as text:
            self.assertEqual(text.chat(messages), text.render(messages))
            self.assertEqual(text.chat([]), text.render([]))

    def test_what_cannot_be_is_refused(self):
        with self.model.text() as text:
            for call, error in ((lambda: text.decode([100000]), ferry.Error),
                                (lambda: text.decode([2**40]), ValueError), (lambda: text.render("hi"), TypeError),
                                (lambda: text.render({"messages": 3}), ferry.Error)):
                with self.assertRaises(error):
                    call()
        with self.assertRaises(ValueError):
            text.encode("a")
        with ferry.Model(blob("depth")) as model:
            for make in (model.text, model.generator):
                with self.assertRaises(ferry.Error):
                    make()


class Generation(Language):
    def test_it_goes_on_as_the_command_does(self):
        expected = json.loads(command("run", blob("language"), "--prompt", "the end", "--max-tokens", "8", "--json"))
        with self.model.generator() as story:
            story.append("the end")
            self.assertEqual("".join(story.stream(max_tokens=8)), expected["text"])
            self.assertEqual(story.tokens, expected["prompt"] + expected["tokens"])
            self.assertLessEqual(story.log_probability, 0)

    def test_the_first_token_is_the_most_probable_one(self):
        prompt = [1, 80, 200]
        with self.model.generator() as story, self.model.session() as session:
            story.append(prompt)
            session.resize((1, len(prompt)))
            logits = session.run(np.array([prompt], np.int32)).reshape(-1, 262)[-1].astype(float)
            token = story.next()
            self.assertEqual(token, logits.argmax())
            expected = logits.max() - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
            self.assertAlmostEqual(story.log_probability, expected, places=4)

    def test_sampling_follows_its_seed_and_keeps_to_its_bias(self):
        def tell(**how):
            with self.model.generator() as story:
                story.sampling(**how)
                story.append([1, 80])
                return [story.next() for _ in range(12)]

        self.assertEqual(tell(temperature=30, seed=3), tell(temperature=30, seed=3))
        self.assertNotEqual(tell(temperature=30, seed=3), tell(temperature=30, seed=4))
        greedy = tell()
        banned = tell(bias={greedy[0]: -float("inf")})
        self.assertNotIn(greedy[0], banned)
        for wrong, error in ((dict(top_k=-1), ValueError), (dict(seed=2**64), ValueError),
                             (dict(temperature=-1), ferry.Error), (dict(top_p=0), ferry.Error)):
            with self.assertRaises(error):
                tell(**wrong)

    def test_a_model_without_a_recommendation_says_so(self):
        with self.model.generator() as story:
            with self.assertRaisesRegex(ferry.Error, "recommend no sampling"):
                story.recommended_sampling()

    def test_a_stop_string_ends_the_stream(self):
        with self.model.generator() as story:
            story.sampling(temperature=30, seed=3)
            story.append([1, 80])
            whole = "".join(story.stream(max_tokens=24))
            story.reset()
            self.assertEqual(story.tokens, [])
            stop = whole[4:6]
            story.sampling(temperature=30, seed=3, stop=stop)
            story.append([1, 80])
            self.assertEqual("".join(story.stream(max_tokens=24)), whole[: whole.index(stop)])
            self.assertTrue(story.ended)

    def test_a_text_is_replaced(self):
        with self.model.generator() as story, self.model.generator() as other:
            story.append("something else")
            story.next()
            story.set("the end")
            with self.model.text() as text:
                self.assertEqual(story.tokens, text.encode("the end", special=False))
            other.set(story.tokens)
            self.assertEqual([story.next() for _ in range(4)], [other.next() for _ in range(4)])

    def test_a_saved_text_is_continued(self):
        with tempfile.TemporaryDirectory() as folder, self.model.generator() as story:
            path = os.path.join(folder, "story")
            story.sampling(temperature=30, seed=3)
            story.append([1, 80])
            story.next()
            self.assertEqual(story.note, b"")
            story.save(path, b"a note\0")
            expected = [story.next() for _ in range(4)]
            with self.model.generator() as again:
                again.sampling(temperature=30, seed=3)
                self.assertEqual(again.load(path), b"a note\0")
                self.assertEqual(again.note, b"a note\0")
                self.assertEqual([again.next() for _ in range(4)], expected)
                with open(path, "wb") as file:
                    file.write(b"no story")
                for wrong, status in ((path, "CORRUPT"), (path + ".absent", "IO_ERROR")):
                    with self.assertRaises(ferry.Error) as raised:
                        again.load(wrong)
                    self.assertEqual(raised.exception.status, status)

    def test_everything_of_the_c_api_is_there(self):
        bound = {name for name, *_ in _structs.TEXT_FUNCTIONS}
        header = os.path.join(ROOT, "sdk", "include", "ferry", "text.h")
        with open(header, encoding="utf-8") as file:
            declared = set(re.findall(r"\bferry_(?:generator|text)_\w+(?=\()", re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)))
        self.assertEqual(declared - bound, set())

    def test_the_end_of_its_room_is_an_error(self):
        with self.model.generator() as story:
            self.assertEqual(story.max_length, 48)
            story.append([1] + [80] * 47)
            with self.assertRaises(ferry.Error) as raised:
                [story.next() for _ in range(3)]
            self.assertEqual(raised.exception.status, "STATE_FULL")
            for call in (story.append_image, story.add_image):
                with self.assertRaises(ferry.Error):
                    call(np.zeros((8, 8, 3), np.uint8))
            self.assertEqual(story.report.backend, "cpu")
        for call in (story.next, lambda: story.append("a"), lambda: story.tokens, story.cancel, lambda: story.piece):
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    unittest.main()
