# SPDX-License-Identifier: Apache-2.0
"""Text over a small language model of bytes (tests/support/language_model.h)."""
import json, unittest

import ferry
import numpy as np
from support import blob, command


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

    def test_the_end_of_its_room_is_an_error(self):
        with self.model.generator() as story:
            self.assertEqual(story.max_length, 48)
            story.append([1] + [80] * 47)
            with self.assertRaises(ferry.Error) as raised:
                [story.next() for _ in range(3)]
            self.assertEqual(raised.exception.status, "STATE_FULL")
            with self.assertRaises(ferry.Error):
                story.append_image(np.zeros((8, 8, 3), np.uint8))
            self.assertEqual(story.report.backend, "cpu")
        for call in (story.next, lambda: story.append("a"), lambda: story.tokens, story.cancel, lambda: story.piece):
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    unittest.main()
