/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - text in, text out: the tokenizer that travels inside a language model's blob, and token after token.
 *
 *   ferry_generator* story;
 *   int32_t token;
 *   const char* prompt = "Once upon a time";
 *   if (ferry_generator_create(model, NULL, &story) != FERRY_OK) return fail(ferry_last_error());
 *   ferry_status status = ferry_generator_append_text(story, prompt, strlen(prompt));
 *   while (status == FERRY_OK && !ferry_generator_ended(story)) {
 *     status = ferry_generator_next(story, &token);
 *     if (status == FERRY_OK) fputs(ferry_generator_text(story, NULL), stdout);
 *   }
 *   ferry_generator_close(story);
 *   if (status != FERRY_OK) return fail(ferry_last_error());
 *
 * This is a library of its own, libferry_text, on top of libferry: apps that show images only do not carry it.
 *
 * Text is UTF-8, and its size is given in bytes. Any bytes may be put in; what comes out is always whole characters,
 * and bytes that form none are U+FFFD. Token ids are indices into the model's vocabulary.
 *
 * A generator keeps what the model remembers of its text (the keys and values of attention): a token costs one run over
 * that token, however long the text is. The text, prompt and answer together, has at most as many tokens as the model
 * was converted for; beyond, calls return FERRY_STATE_FULL.
 *
 * Errors, ownership and threads: as in ferry.h. Text and generators keep their model's blob open. Any number of threads
 * may use a text, one at a time a generator. */
#ifndef FERRY_TEXT_H_
#define FERRY_TEXT_H_

#include <ferry/ferry.h>
#include <ferry/image.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- text: tokenizer and chat template of a model's blob ----------------------------------------------------------*/

typedef struct ferry_text ferry_text;

/* Verifies what the blob says of text, which opening the model does not. FERRY_NOT_FOUND: it says nothing. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_open(const ferry_model* model, ferry_text** text);
/* NULL is allowed. */
FERRY_API void ferry_text_close(ferry_text* text);
/* The ids of a whole text; `special`: with those that stand before and behind every text, where the model has them.
 * Special tokens that are written in the text are recognised either way. *count: room on entry, how many there are on
 * return; too little room is FERRY_INVALID_ARGUMENT. `tokens` NULL: only *count is written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_encode(const ferry_text* text, const char* words, size_t bytes,
                                                         bool special, int32_t* tokens, size_t* count);
/* The text of a whole sequence of ids. *bytes: room on entry, the text's size on return, without a NUL at its end; too
 * little room is FERRY_INVALID_ARGUMENT. `words` NULL: only *bytes is written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_decode(const ferry_text* text, const int32_t* tokens, size_t count,
                                                         char* words, size_t* bytes);

/* A conversation as the model reads it, written by the chat template of its blob. `chat` is a JSON object: "messages";
 * "tools" and "documents"; "add_generation_prompt"; and whatever else the template has variables for, as of
 * transformers' apply_chat_template(). Sizes as above; encode the result without `special`. FERRY_NOT_FOUND: the blob
 * has no template. FERRY_INVALID_ARGUMENT: `chat` is no such thing, or the template refuses it, with its own words. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_render(const ferry_text* text, const char* chat, size_t chat_bytes,
                                                         char* words, size_t* bytes);

typedef struct ferry_message {
  const char* role;    /* "system", "user", "assistant" */
  const char* content; /* UTF-8 */
} ferry_message;

/* The same of a plain conversation, up to where the model's answer begins. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_chat(const ferry_text* text, const ferry_message* messages,
                                                       size_t count, char* words, size_t* bytes);

/* ---- generator: a text, and how the model goes on with it ---------------------------------------------------------*/

typedef struct ferry_generator ferry_generator;

/* `options` as for ferry_session_create(); NULL: the defaults. FERRY_UNSUPPORTED for a model that is no language
 * model. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_create(ferry_model* model, const ferry_session_options* options,
                                                              ferry_generator** generator);
/* NULL is allowed. */
FERRY_API void ferry_generator_close(ferry_generator* generator);

/* How the next token is chosen. In this order: biases are added to the network's logits; those of tokens that the text
 * has are divided by the penalty (multiplied where they are below 0); all are divided by the temperature; of their
 * softmax those stay that are among the top_k largest, within the fewest that reach top_p together, and at least min_p
 * times the largest. */
typedef struct ferry_sampling {
  size_t struct_size;       /* set by ferry_sampling_init(), which makes the choice greedy */
  float temperature;        /* 0: the most probable token, of equal ones the first */
  int32_t top_k;            /* 0: all */
  float top_p;              /* above 0; 1: all */
  float min_p;              /* 0 to 1; 0: all */
  float repetition_penalty; /* above 0; 1: none */
  uint64_t seed;            /* the same seed gives the same text, with any number of threads */
  const int32_t* bias_tokens;
  const float* bias_values; /* infinity below 0: never */
  size_t bias_count;
  const char* const*
      stop; /* UTF-8: the text ends where one of these would begin; ferry_generator_text() leaves it out */
  size_t stop_count;
} ferry_sampling;

FERRY_API void ferry_sampling_init(ferry_sampling* sampling);
/* From the next token on; copied. FERRY_INVALID_ARGUMENT: a number is out of range. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_set_sampling(ferry_generator* generator,
                                                                    const ferry_sampling* sampling);

/* Puts tokens, or text, behind what there is. They are run with the next ferry_generator_next(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append(ferry_generator* generator, const int32_t* tokens,
                                                              size_t count);
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append_text(ferry_generator* generator, const char* text,
                                                                   size_t bytes);
/* Puts an image behind the text, for models that see (ferry/image.h): it is prepared by the blob's recipe and seen
 * now, and becomes tokens, more the larger it is, between those that begin and end an image. FERRY_UNSUPPORTED: the
 * model reads text alone. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append_image(ferry_generator* generator,
                                                                    const ferry_image* image);
/* Sees an image whose tokens come with a text: in what ferry_generator_append_text() and ferry_generator_set_text()
 * put in, the n-th token that stands for an image, which a chat template writes once, becomes the tokens of the n-th
 * that was added since the generator was made or reset. A text that is set has tokens for all of them. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_add_image(ferry_generator* generator, const ferry_image* image);
/* Replaces the text: what has been computed of a common beginning is kept, where the network can go back. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_set(ferry_generator* generator, const int32_t* tokens,
                                                           size_t count);
/* The same with a text that ferry_text_render() or ferry_text_chat() wrote. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_set_text(ferry_generator* generator, const char* text,
                                                                size_t bytes);
/* The next token, which becomes the text's last one. After FERRY_CANCELLED, or another failure of a run, another call
 * goes on from there. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_next(ferry_generator* generator, int32_t* token);
/* The characters that the last ferry_generator_next() completed: none, one or several. Ends with a NUL; *bytes, where
 * not NULL, is the size without it. Valid until the next call that takes the generator. */
FERRY_API const char* ferry_generator_text(const ferry_generator* generator, size_t* bytes);
/* Natural logarithm of the probability that the network gave the last token, whatever the sampling. */
FERRY_API float ferry_generator_log_probability(const ferry_generator* generator);
/* Did the last ferry_generator_next() give a token with which a text ends, or complete a stop string? */
FERRY_API bool ferry_generator_ended(const ferry_generator* generator);
/* The text's tokens, valid until the next call that takes the generator; and how many it may have. */
FERRY_API const int32_t* ferry_generator_tokens(const ferry_generator* generator, size_t* count);
FERRY_API size_t ferry_generator_max_length(const ferry_generator* generator);
/* The text, where the random numbers are and what the model remembers as one file, and `note` with it, bytes of the
 * app's own (NULL and 0: none). It is written beside `path` and renamed, and fits the blob that it was made with, and
 * this version of the blob only. How tokens are chosen is not in it. FERRY_UNSUPPORTED: the text has images. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_save(const ferry_generator* generator, const char* path,
                                                            const void* note, size_t note_bytes);
/* Replaces all of these by a file's: under the same sampling, set before, the next tokens are those that would have
 * come behind ferry_generator_save(), and none is computed again. On failure everything stays as it was.
 * FERRY_IO_ERROR; FERRY_CORRUPT: damaged, no such file, or of another model; FERRY_UNSUPPORTED_VERSION. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_load(ferry_generator* generator, const char* path);
/* The note of the file that the last ferry_generator_load() read, which a stranger may have written; valid until the
 * next one. *note_bytes, where not NULL, is its size, 0 before the first. */
FERRY_API const void* ferry_generator_note(const ferry_generator* generator, size_t* note_bytes);
/* Forgets the text and its images. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_reset(ferry_generator* generator);
/* Makes a ferry_generator_next() that another thread is in fail with FERRY_CANCELLED; without one it does nothing. Any
 * thread may call it. */
FERRY_API void ferry_generator_cancel(ferry_generator* generator);
/* The session that it runs, for ferry_session_report() and what is measured; NULL of NULL. To run or to resize it is
 * the generator's affair. */
FERRY_API ferry_session* ferry_generator_session(ferry_generator* generator);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_TEXT_H_ */
