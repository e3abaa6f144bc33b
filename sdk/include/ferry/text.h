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
 * Text is UTF-8, and its size is given in bytes. Any bytes may be put in; what comes out is always whole characters,
 * and bytes that form none are U+FFFD. Token ids are indices into the model's vocabulary.
 *
 * A generator keeps what the model remembers of its text (the keys and values of attention): a token costs one run over
 * that token, however long the text is. The text, prompt and answer together, has at most as many tokens as the model
 * was converted for; beyond, calls return FERRY_STATE_FULL.
 *
 * Errors, ownership and threads: as in ferry.h. A generator keeps its model alive and is used by one thread at a time.
 */
#ifndef FERRY_TEXT_H_
#define FERRY_TEXT_H_

#include <ferry/ferry.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- tokens. FERRY_NOT_FOUND where the model has no tokenizer. ----------------------------------------------------*/

/* The ids of a whole text, with the one that stands before every text where the model has it. *count: room on entry,
 * how many there are on return; too little room is FERRY_INVALID_ARGUMENT. `tokens` NULL: only *count is written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_tokenize(ferry_model* model, const char* text, size_t bytes,
                                                            int32_t* tokens, size_t* count);
/* The text of a whole sequence of ids. *bytes: room on entry, the text's size on return, without a NUL at its end; too
 * little room is FERRY_INVALID_ARGUMENT. `text` NULL: only *bytes is written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_detokenize(ferry_model* model, const int32_t* tokens, size_t count,
                                                              char* text, size_t* bytes);

/* ---- generator: a text, and how the model goes on with it ---------------------------------------------------------*/

typedef struct ferry_generator ferry_generator;

/* `options` as for ferry_session_create(); NULL: the defaults. FERRY_UNSUPPORTED for a model that is no language
 * model. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_create(ferry_model* model, const ferry_session_options* options,
                                                              ferry_generator** generator);
/* NULL is allowed. */
FERRY_API void ferry_generator_close(ferry_generator* generator);

/* Puts tokens, or text, behind what there is. They are run with the next ferry_generator_next(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append(ferry_generator* generator, const int32_t* tokens,
                                                              size_t count);
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_append_text(ferry_generator* generator, const char* text,
                                                                   size_t bytes);
/* The most probable token, which becomes the text's last one. After FERRY_CANCELLED, or another failure of a run,
 * another call goes on from there. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_next(ferry_generator* generator, int32_t* token);
/* The characters that the last ferry_generator_next() completed: none, one or several. Ends with a NUL; *bytes, where
 * not NULL, is the size without it. Valid until the next call that takes the generator. */
FERRY_API const char* ferry_generator_text(const ferry_generator* generator, size_t* bytes);
/* Did the last ferry_generator_next() give a token with which a text ends? */
FERRY_API bool ferry_generator_ended(const ferry_generator* generator);
/* Tokens of the text now, and at most. */
FERRY_API size_t ferry_generator_length(const ferry_generator* generator);
FERRY_API size_t ferry_generator_max_length(const ferry_generator* generator);
/* Forgets the text. */
FERRY_NODISCARD FERRY_API ferry_status ferry_generator_reset(ferry_generator* generator);
/* The session that it runs, for ferry_session_cancel(), ferry_session_report() and what is measured; NULL of NULL. To
 * run or to resize it is the generator's affair. */
FERRY_API ferry_session* ferry_generator_session(ferry_generator* generator);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_TEXT_H_ */
