/* Runs a blob, by a session, by one that keeps every tap (which must give the same bits), and by its task, with a
 * library that has some operators: says what came, or why not. */
#include <ferry/ferry.h>
#include <ferry/task.h>
#include <stdio.h>
#include <string.h>

static int refuse(ferry_status status) {
  printf("%s: %s\n", ferry_status_name(status), ferry_last_error());
  return 1;
}

#define TRY(call) \
  if ((status = (call)) != FERRY_OK) return refuse(status)

/* Numbers that are not all alike. */
static ferry_status run(ferry_model* model, bool all_taps, ferry_session** session, ferry_tensor* output) {
  ferry_session_options options;
  ferry_tensor input;
  ferry_status status;
  size_t i;
  ferry_session_options_init(&options);
  options.all_taps = all_taps;
  if ((status = ferry_session_create(model, &options, session)) != FERRY_OK) return status;
  if ((status = ferry_session_input(*session, 0, &input)) != FERRY_OK) return status;
  for (i = 0; i < input.bytes / sizeof(float); ++i) ((float*)input.data)[i] = (float)(i * 7919 % 251) / 125 - 1;
  if ((status = ferry_session_run(*session)) != FERRY_OK) return status;
  return ferry_session_output(*session, 0, output);
}

int main(int argc, char** argv) {
  static uint8_t grey[32 * 32 * 3];
  ferry_model* model = NULL;
  ferry_session *session = NULL, *tapped = NULL;
  ferry_task* task = NULL;
  ferry_states* states = NULL;
  ferry_tensor output, same;
  ferry_image image = {grey, 32, 32, 32 * 3, false};
  ferry_task_info info = {.struct_size = sizeof info};
  ferry_request request = {.struct_size = sizeof request, .image = &image};
  ferry_answer answer = {.struct_size = sizeof answer};
  ferry_status status;
  size_t i;
  if (argc != 2) return 2;
  memset(grey, 128, sizeof grey);
  TRY(ferry_model_open(argv[1], &model));
  TRY(run(model, false, &session, &output));
  TRY(run(model, true, &tapped, &same));
  if (memcmp(output.data, same.data, output.bytes) != 0) {
    printf("with its taps kept it gives other numbers\n");
    return 4;
  }
  for (i = 0; i < ferry_model_tap_count(model); ++i) {
    TRY(ferry_model_tap(model, i, &same));
    TRY(ferry_session_tap(tapped, same.name, &same));
    if (same.data == NULL) {
      printf("a tap is nowhere: %s\n", same.name);
      return 4;
    }
  }
  printf("runs: %g", (double)*(const float*)output.data);
  TRY(ferry_model_task(model, &info));
  if (info.answer != FERRY_ANSWER_NONE) {
    TRY(ferry_task_open(model, NULL, &task));
    TRY(ferry_task_run(task, &request, &answer));
    printf(", %s: class %d", info.name, (int)answer.classes[0].index);
  }
  printf("\n");
  /* No operator of these blobs keeps a state. */
  if (ferry_states_create(model, &states) != FERRY_UNSUPPORTED) return 3;
  ferry_task_close(task);
  ferry_session_close(tapped);
  ferry_session_close(session);
  ferry_model_close(model);
  return 0;
}
