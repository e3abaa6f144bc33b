/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - language models: the tokenizer and chat template of a blob, and text generation token by token.
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
 * These functions are in libferry_text, a separate library on top of libferry. Apps without text do not need it.
 *
 * Text is UTF-8, with sizes in bytes. Inputs may be any bytes. Outputs are whole characters, with U+FFFD for invalid
 * bytes. Token ids are indices into the model's vocabulary.
 *
 * A generator keeps the model's KV cache, so each new token costs one run over that token. Prompt and answer together
 * are limited to the number of tokens that the model was converted for; beyond it, calls return FERRY_STATE_FULL.
 *
 * Errors, ownership and threads: as in ferry.h. Texts and generators keep their model's blob open. Many threads may use
 * a text at once; one thread at a time may use a generator. */
#ifndef FERRY_TEXT_H_
#define FERRY_TEXT_H_

#include <ferry/ferry.h>
#include <ferry/image.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- text: tokenizer and chat template of a model's blob
 * ---------------------------------------------------------- */

typedef struct ferry_text ferry_text;

/* Opens and verifies the blob's tokenizer and chat template, which ferry_model_open() does not verify. FERRY_NOT_FOUND:
 * the blob has none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_open(const ferry_model* model, ferry_text** text);
/* Accepts NULL. */
FERRY_API void ferry_text_close(ferry_text* text);
/* Encodes a text to token ids. `special`: add the tokens that begin and end a text, if the model has them. Special
 * tokens written in the text are recognised in either case. *count: capacity on entry, number of tokens on return;
 * FERRY_INVALID_ARGUMENT if the capacity is too small. `tokens` NULL: only *count is written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_encode(const ferry_text* text, const char* words, size_t bytes,
                                                         bool special, int32_t* tokens, size_t* count);
/* Decodes token ids to text. *bytes: capacity on entry, the text's size without a NUL on return; FERRY_INVALID_ARGUMENT
 * if the capacity is too small. `words` NULL: only *bytes is written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_decode(const ferry_text* text, const int32_t* tokens, size_t count,
                                                         char* words, size_t* bytes);

/* Renders a conversation with the blob's chat template. `chat` is a JSON object with "messages", "tools", "documents",
 * "add_generation_prompt" and other variables of the template, as in transformers' apply_chat_template(). Sizes as in
 * ferry_text_decode(). Encode the result without `special`. FERRY_NOT_FOUND: the blob has no template.
 * FERRY_INVALID_ARGUMENT: `chat` is no such object, or the template raised an exception, which the error quotes. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_render(const ferry_text* text, const char* chat, size_t chat_bytes,
                                                         char* words, size_t* bytes);

typedef struct ferry_message {
  const char* role;    /* "system", "user", "assistant" */
  const char* content; /* UTF-8 */
} ferry_message;

/* Renders a plain conversation, up to the beginning of the model's answer. */
FERRY_NODISCARD FERRY_API ferry_status ferry_text_chat(const ferry_text* text, const ferry_message* messages,
                                                       size_t count, char* words, size_t* bytes);

/* ---- generator: a text that a language model continues -----------------------------------------------------------*/

typedef struct ferry_generator ferry_generator;

/* `options` as for ferry_session_create(); NULL: the defaults. FERRY_UNSUPPORTED: the model is not a language model. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_create(ferry_model* model, const ferry_session_options* options,
                                                              ferry_generator** generator);
/* Accepts NULL. */
FERRY_API void ferry_generator_close(ferry_generator* generator);

/* How the next token is sampled. The steps, in order: biases are added to the logits; logits of tokens that occur in
 * the text are divided by the penalty (multiplied if negative); all are divided by the temperature; after softmax,
 * candidates are the top_k largest, within the smallest set that reaches top_p, with at least min_p times the
 * maximum. */
typedef struct ferry_sampling {
  size_t struct_size;       /* set by ferry_sampling_init(), whose defaults are greedy */
  float temperature;        /* 0: the most probable token; the lowest id of equal ones */
  int32_t top_k;            /* 0: all */
  float top_p;              /* above 0; 1: all */
  float min_p;              /* 0 to 1; 0: all */
  float repetition_penalty; /* above 0; 1: none */
  uint64_t seed;            /* the same seed gives the same text, for any number of threads */
  const int32_t* bias_tokens;
  const float* bias_values; /* -infinity: never */
  size_t bias_count;
  const char* const* stop; /* UTF-8: generation ends before one of these; ferry_generator_text() omits it */
  size_t stop_count;
} ferry_sampling;

FERRY_API void ferry_sampling_init(ferry_sampling* sampling);
/* Copies the settings; they apply from the next token. FERRY_INVALID_ARGUMENT: a value is out of range. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_set_sampling(ferry_generator* generator,
                                                                    const ferry_sampling* sampling);

/* Writes the temperature, top_k, top_p, min_p and repetition_penalty that the model's authors recommend
 * (generation_config.json); call ferry_sampling_init() first. FERRY_NOT_FOUND: they recommend nothing. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_recommended_sampling(const ferry_generator* generator,
                                                                            ferry_sampling* sampling);

/* Appends tokens or text. They are processed by the next ferry_generator_next(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append(ferry_generator* generator, const int32_t* tokens,
                                                              size_t count);
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append_text(ferry_generator* generator, const char* text,
                                                                   size_t bytes);
/* Appends an image, for models with vision. The image is preprocessed and encoded now; it becomes tokens, more for
 * larger images, between those that begin and end an image. FERRY_UNSUPPORTED: the model accepts text only. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append_image(ferry_generator* generator,
                                                                    const ferry_image* image);
/* Adds an image for a text with placeholders. In ferry_generator_append_text() and ferry_generator_set_text(), the n-th
 * placeholder token (chat templates write one per image) becomes the tokens of the n-th image added since the generator
 * was created or reset. A text that is set must have a placeholder for each image. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_add_image(ferry_generator* generator, const ferry_image* image);
/* Replaces the text. Results for a common prefix are kept, if the network can be truncated there. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_set(ferry_generator* generator, const int32_t* tokens,
                                                           size_t count);
/* The same with text from ferry_text_render() or ferry_text_chat(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_set_text(ferry_generator* generator, const char* text,
                                                                size_t bytes);
/* Generates the next token and appends it to the text. After FERRY_CANCELLED, or another failure of a run, call it
 * again to continue. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_next(ferry_generator* generator, int32_t* token);
/* The characters completed by the last ferry_generator_next(): none, one or several, with a NUL. *bytes, if not NULL,
 * is the size without it. Valid until the next call that modifies the generator. */
FERRY_API const char* ferry_generator_text(const ferry_generator* generator, size_t* bytes);
/* Natural logarithm of the last token's probability in the network's softmax, regardless of sampling. */
FERRY_API float ferry_generator_log_probability(const ferry_generator* generator);
/* Whether the last ferry_generator_next() generated an end token or completed a stop string. */
FERRY_API bool ferry_generator_ended(const ferry_generator* generator);
/* The text's tokens, valid until the next call that modifies the generator; and the maximum number of tokens. */
FERRY_API const int32_t* ferry_generator_tokens(const ferry_generator* generator, size_t* count);
FERRY_API size_t ferry_generator_max_length(const ferry_generator* generator);
/* Saves the text, the state of the random numbers and the KV cache as one file, with `note`, bytes of the app (NULL and
 * 0: none). It is written beside `path` and renamed. It can only be loaded with the same version of the same blob.
 * Sampling settings are not saved. FERRY_UNSUPPORTED: the text has images. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_save(const ferry_generator* generator, const char* path,
                                                            const void* note, size_t note_bytes);
/* Restores a saved file. With the same sampling, set before, generation continues as it would have after
 * ferry_generator_save(), and no token is computed again. On failure nothing changes. FERRY_IO_ERROR: the file cannot
 * be read. FERRY_CORRUPT: it is damaged, not a saved text, or of another model. FERRY_UNSUPPORTED_VERSION: a later
 * version of Ferry wrote it. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_load(ferry_generator* generator, const char* path);
/* The note of the file that the last ferry_generator_load() read; its content is untrusted. Valid until the next load.
 * *note_bytes, if not NULL, is its size, 0 before the first load. */
FERRY_API const void* ferry_generator_note(const ferry_generator* generator, size_t* note_bytes);
/* Removes the text and its images. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_reset(ferry_generator* generator);
/* Makes another thread's ferry_generator_next() fail with FERRY_CANCELLED; does nothing without one. Any thread may
 * call it. */
FERRY_API void ferry_generator_cancel(ferry_generator* generator);
/* The generator's session, for ferry_session_report() and measurements; NULL for NULL. Do not run or resize it. */
FERRY_API ferry_session* ferry_generator_session(ferry_generator* generator);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_TEXT_H_ */
