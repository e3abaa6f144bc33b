# SPDX-License-Identifier: Apache-2.0
"""Language models: the tokenizer and chat template of a blob, and token by token generation."""
import ctypes, json
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _structs as c
from ._handle import Closing, Handle, path_bytes
from ._library import text_library
from .images import image_of
from .session import Report, report_of


class Text(Closing):
    """Tokenizer and chat template of a blob, from Model.text()."""

    _what = "text"

    def __init__(self, pointer):
        self._handle = Handle(self._what, pointer, text_library().ferry_text_close)

    def encode(self, words: str, special: bool = True) -> List[int]:
        """The token ids of a text; `special` adds the tokens that begin and end a text, if the model has them."""
        encoded, count = words.encode(), ctypes.c_size_t(0)
        with self._use() as text:
            function = text_library().ferry_text_encode
            function(text, encoded, len(encoded), special, None, ctypes.byref(count))
            tokens = (ctypes.c_int32 * count.value)()
            function(text, encoded, len(encoded), special, tokens, ctypes.byref(count))
            return list(tokens[: count.value])

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids. ferry.Error, INVALID_ARGUMENT: an id is outside the vocabulary."""
        ids = _ids(tokens)
        function = text_library().ferry_text_decode
        with self._use() as text:
            return _written(lambda room, size: function(text, ids, len(ids), room, size))

    def render(self, chat: Union[Mapping, Sequence[Mapping]], **variables) -> str:
        """Renders a conversation with the blob's chat template. `chat` is a list of messages ({"role": "user",
        "content": "..."}), rendered up to the beginning of the answer, or an object as for apply_chat_template().
        Encode the result without `special`. ferry.Error: NOT_FOUND, the blob has no template; INVALID_ARGUMENT, the
        template failed."""
        if isinstance(chat, str):
            raise TypeError("a chat is a list of messages, not a text: append() takes one")
        whole = dict(chat) if isinstance(chat, Mapping) else {"messages": list(chat), "add_generation_prompt": True}
        encoded = json.dumps({**whole, **variables}).encode()
        function = text_library().ferry_text_render
        with self._use() as text:
            return _written(lambda room, size: function(text, encoded, len(encoded), room, size))


    def chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        """A plain conversation, rendered up to the beginning of the model's answer: messages with "role" and "content",
        both strings. ferry.Error: as for render()."""
        items = [(message["role"].encode(), message["content"].encode()) for message in messages]
        array = (c.Message * len(items))(*items)
        function = text_library().ferry_text_chat
        with self._use() as text:
            return _written(lambda room, size: function(text, array, len(items), room, size))


class Generator(Closing):
    """A text that the model continues: Model.generator(). One thread at a time uses it.

        with ferry.Model("stories.ferry") as model, model.generator() as story:
            story.append("Once upon a time")
            for piece in story.stream(max_tokens=100):
                print(piece, end="", flush=True)"""

    _what = "generator"

    def __init__(self, pointer):
        lib = text_library()
        self._handle = Handle(self._what, pointer, lib.ferry_generator_close, lib.ferry_generator_cancel)

    def sampling(self, *, temperature: float = 0, top_k: int = 0, top_p: float = 1, min_p: float = 0,
                 repetition_penalty: float = 1, seed: int = 0, bias: Optional[Mapping[int, float]] = None,
                 stop: Sequence[str] = ()):
        """How the next tokens are chosen; without it the most probable one (temperature 0). ferry.Error,
        INVALID_ARGUMENT: a value is out of range."""
        choice, lib = c.Sampling(), text_library()
        lib.ferry_sampling_init(ctypes.byref(choice))
        if not 0 <= top_k < 2**31 or not 0 <= seed < 2**64:
            raise ValueError(f"top_k is {top_k} and seed {seed}: must be 0 or more, within 31 and 64 bits")
        choice.temperature, choice.top_k, choice.top_p, choice.min_p = temperature, top_k, top_p, min_p
        choice.repetition_penalty, choice.seed = repetition_penalty, seed
        if bias:
            choice.bias_tokens, choice.bias_values = _ids(list(bias)), (ctypes.c_float * len(bias))(*bias.values())
            choice.bias_count = len(bias)
        stops = [stop] if isinstance(stop, str) else list(stop)
        if stops:
            choice.stop = (ctypes.c_char_p * len(stops))(*(word.encode() for word in stops))
            choice.stop_count = len(stops)
        with self._use() as generator:
            lib.ferry_generator_set_sampling(generator, ctypes.byref(choice))

    def recommended_sampling(self) -> Dict[str, float]:
        """What the model's authors recommend (generation_config.json), as arguments of sampling(). ferry.Error,
        NOT_FOUND: they recommend nothing."""
        found, lib = c.Sampling(), text_library()
        lib.ferry_sampling_init(ctypes.byref(found))
        with self._use() as generator:
            lib.ferry_generator_recommended_sampling(generator, ctypes.byref(found))
        names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
        return {name: getattr(found, name) for name in names}

    def append(self, words: Union[str, Sequence[int]]):
        """Appends text, or token ids. ferry.Error: STATE_FULL, INVALID_ARGUMENT."""
        with self._use() as generator:
            if isinstance(words, str):
                encoded = words.encode()
                text_library().ferry_generator_append_text(generator, encoded, len(encoded))
            else:
                ids = _ids(words)
                text_library().ferry_generator_append(generator, ids, len(ids))

    def append_image(self, image):
        """Appends an image, for models that accept images: a path, a PIL image or an array uint8 [height, width, 3].
        ferry.Error, UNSUPPORTED: the model accepts text only."""
        with image_of(image) as pixels, self._use() as generator:
            text_library().ferry_generator_append_image(generator, ctypes.byref(pixels))

    def add_image(self, image):
        """Adds an image whose position is in a text: the n-th image token that append() or set() finds, which a chat
        template writes, becomes the tokens of the n-th added image. ferry.Error: as for append_image()."""
        with image_of(image) as pixels, self._use() as generator:
            text_library().ferry_generator_add_image(generator, ctypes.byref(pixels))

    def set(self, words: Union[str, Sequence[int]]):
        """Replaces the text by a text of Text.render() or Text.chat(), or by token ids. Results for a common beginning
        are kept if the model can go back. ferry.Error: STATE_FULL, INVALID_ARGUMENT."""
        with self._use() as generator:
            if isinstance(words, str):
                encoded = words.encode()
                text_library().ferry_generator_set_text(generator, encoded, len(encoded))
            else:
                ids = _ids(words)
                text_library().ferry_generator_set(generator, ids, len(ids))

    def save(self, path, note: bytes = b""):
        """Writes the text, the state of the random numbers and the model's states to a file, with `note`, bytes of the
        app. The sampling is not stored. ferry.Error: IO_ERROR, UNSUPPORTED (the text has images)."""
        with self._use() as generator:
            text_library().ferry_generator_save(generator, path_bytes(path), bytes(note), len(note))

    def load(self, path) -> bytes:
        """Reads a file of save(), and returns its note. With the sampling of then, the next tokens are the same, and
        none is computed again. On failure nothing changes. ferry.Error: IO_ERROR, CORRUPT (damaged, or of another
        model), UNSUPPORTED_VERSION."""
        with self._use() as generator:
            text_library().ferry_generator_load(generator, path_bytes(path))
        return self.note

    @property
    def note(self) -> bytes:
        """The note of the file that load() read last; empty before."""
        size = ctypes.c_size_t()
        with self._use() as generator:
            at = text_library().ferry_generator_note(generator, ctypes.byref(size))
            return ctypes.string_at(at, size.value) if size.value else b""

    def next(self) -> int:
        """Generates the next token and appends it. ferry.Error: STATE_FULL (the text has its maximum length), CANCELLED;
        another call continues."""
        token = ctypes.c_int32()
        with self._use() as generator:
            text_library().ferry_generator_next(generator, ctypes.byref(token))
            return token.value

    def stream(self, max_tokens: Optional[int] = None) -> Iterator[str]:
        """The characters of each new token, until the model ends its text, a stop string begins, or `max_tokens` are
        generated."""
        count = 0
        while (max_tokens is None or count < max_tokens) and not (count and self.ended):
            self.next()
            count += 1
            yield self.piece

    @property
    def piece(self) -> str:
        """The characters that the last next() completed: none, one or several."""
        size = ctypes.c_size_t()
        with self._use() as generator:
            at = text_library().ferry_generator_text(generator, ctypes.byref(size))
            return ctypes.string_at(at, size.value).decode("utf-8", "replace")

    @property
    def ended(self) -> bool:
        """Whether the last next() generated an end token or completed a stop string."""
        with self._use() as generator:
            return text_library().ferry_generator_ended(generator)

    @property
    def log_probability(self) -> float:
        """The log probability of the last token, before sampling."""
        with self._use() as generator:
            return text_library().ferry_generator_log_probability(generator)

    @property
    def tokens(self) -> List[int]:
        """The text's tokens, prompt and answer."""
        count = ctypes.c_size_t()
        with self._use() as generator:
            tokens = text_library().ferry_generator_tokens(generator, ctypes.byref(count))
            return list(tokens[: count.value]) if count.value else []

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of the text."""
        with self._use() as generator:
            return text_library().ferry_generator_max_length(generator)

    def reset(self):
        """Removes the text and its images."""
        with self._use() as generator:
            text_library().ferry_generator_reset(generator)

    def cancel(self):
        """Makes another thread's next() fail with ferry.Error, CANCELLED."""
        self._open_handle().cancel()

    @property
    def report(self) -> Report:
        with self._use() as generator:
            return report_of(text_library().ferry_generator_session(generator))


def _ids(tokens):
    tokens = [int(token) for token in tokens]
    if any(not -(2**31) <= token < 2**31 for token in tokens):
        raise ValueError("a token id has 32 bits")
    return (ctypes.c_int32 * len(tokens))(*tokens)


def _written(write):
    """The text that a function writes; called without room, it returns the size."""
    size = ctypes.c_size_t(0)
    write(None, ctypes.byref(size))
    room = ctypes.create_string_buffer(size.value + 1)
    write(room, ctypes.byref(size))
    return room.raw[: size.value].decode("utf-8", "replace")
