#include <ferry/ferry.h>
#include <stdio.h>

int main(int argc, char** argv) {
  ferry_model* model = NULL;
  ferry_session* session = NULL;
  ferry_status status = ferry_model_open(argc > 1 ? argv[1] : "model.ferry", &model);
  if (status == FERRY_OK) status = ferry_session_create(model, NULL, &session);
  if (status == FERRY_OK) status = ferry_session_run(session);
  printf("ferry %s: %s\n", ferry_version(), status == FERRY_OK ? "it runs" : ferry_last_error());
  ferry_session_close(session);
  ferry_model_close(model);
  return 0;
}
