#include <ferry/ferry.h>

#include <cstdio>

int main(int argc, char** argv) {
  ferry_model* model = nullptr;
  ferry_session* session = nullptr;
  ferry_status status = ferry_model_open(argc > 1 ? argv[1] : "model.ferry", &model);
  if (status == FERRY_OK) status = ferry_session_create(model, nullptr, &session);
  if (status == FERRY_OK) status = ferry_session_run(session);
  std::printf("ferry %s: %s\n", ferry_version(), status == FERRY_OK ? "it runs" : ferry_last_error());
  ferry_session_close(session);
  ferry_model_close(model);
  return 0;
}
