/* Runs a blob once, by a session and by its task, with a library that has some operators: says what came, or why
 * not. */
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

int main(int argc, char** argv) {
  static uint8_t grey[32 * 32 * 3];
  ferry_model* model = NULL;
  ferry_session* session = NULL;
  ferry_task* task = NULL;
  ferry_states* states = NULL;
  ferry_tensor output;
  ferry_image picture = {grey, 32, 32, 32 * 3, false};
  ferry_task_info info = {.struct_size = sizeof info};
  ferry_request request = {.struct_size = sizeof request, .picture = &picture};
  ferry_answer answer = {.struct_size = sizeof answer};
  ferry_status status;
  if (argc != 2) return 2;
  memset(grey, 128, sizeof grey);
  TRY(ferry_model_open(argv[1], &model));
  TRY(ferry_session_create(model, NULL, &session));
  TRY(ferry_session_run(session));
  TRY(ferry_session_output(session, 0, &output));
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
  ferry_session_close(session);
  ferry_model_close(model);
  return 0;
}
