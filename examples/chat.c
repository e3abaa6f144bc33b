// SPDX-License-Identifier: Apache-2.0
/* chat - talks with a language model, line by line:
 *
 *     chat qwen.ferry
 *     What is a ferry?
 *
 * The model's own chat template formats the conversation. The whole conversation is set again for each line, but only
 * its new tokens are computed.
 */
#include <ferry/task.h>
#include <ferry/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MESSAGES 200
#define MAX_PROMPT 65536
#define MAX_ANSWER 16384

static char* copy(const char* text) {
  char* made = malloc(strlen(text) + 1);
  if (made == NULL) abort();
  return strcpy(made, text);
}

/* Prints the answer while it is generated, and stores it in `said`. */
static ferry_status answer(ferry_generator* generator, char* said) {
  ferry_status status = FERRY_OK;
  size_t length = 0;
  said[0] = '\0';
  while (status == FERRY_OK && !ferry_generator_ended(generator)) {
    int32_t token;
    size_t bytes;
    const char* piece;
    char shown[1024];
    status = ferry_generator_next(generator, &token);
    if (status != FERRY_OK) break;
    piece = ferry_generator_text(generator, &bytes);
    ferry_printable(piece, true, shown, sizeof(shown)); /* a model may generate escape sequences */
    fputs(shown, stdout);
    fflush(stdout);
    if (length + bytes >= MAX_ANSWER) break;
    memcpy(said + length, piece, bytes + 1);
    length += bytes;
  }
  puts("");
  return status;
}

static ferry_status chat(const ferry_text* text, ferry_generator* generator) {
  static ferry_message messages[MAX_MESSAGES];
  static char line[4096], said[MAX_ANSWER], prompt[MAX_PROMPT];
  size_t count = 0, i;
  ferry_status status = FERRY_OK;
  while (status == FERRY_OK && count + 2 <= MAX_MESSAGES && fgets(line, sizeof(line), stdin) != NULL) {
    size_t bytes = sizeof(prompt);
    line[strcspn(line, "\n")] = '\0';
    messages[count++] = (ferry_message){"user", copy(line)};
    status = ferry_text_chat(text, messages, count, prompt, &bytes);
    if (status == FERRY_OK) status = ferry_generator_set_text(generator, prompt, bytes);
    if (status == FERRY_OK) status = answer(generator, said);
    messages[count++] = (ferry_message){"assistant", copy(said)};
  }
  for (i = 0; i < count; ++i) free((char*)messages[i].content);
  return status;
}

int main(int argc, char** argv) {
  ferry_model* model = NULL;
  ferry_text* text = NULL;
  ferry_generator* generator = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: chat MODEL.ferry\n");
    return 2;
  }
  ferry_status status = ferry_model_open(argv[1], &model);
  if (status == FERRY_OK) status = ferry_text_open(model, &text);
  if (status == FERRY_OK) status = ferry_generator_create(model, NULL, &generator);
  if (status == FERRY_OK) status = chat(text, generator);
  if (status != FERRY_OK) fprintf(stderr, "chat: %s\n", ferry_last_error());
  ferry_generator_close(generator);
  ferry_text_close(text);
  ferry_model_close(model);
  return status == FERRY_OK ? 0 : 2;
}
