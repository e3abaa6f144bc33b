// SPDX-License-Identifier: Apache-2.0
/* classify - prints the most probable classes of an image:
 *
 *     classify squeezenet.ferry photo.jpg
 *
 * The blob contains the preprocessing (size, crop, normalisation) and the names of the classes.
 */
#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/task.h>
#include <stdio.h>

#define TOP 5

/* Classifies one image. Every call returns a status; the first failure ends the function. */
static ferry_status classify(ferry_session* session, const char* path) {
  ferry_image image;
  ferry_class top[TOP];
  size_t count = TOP;

  ferry_status status = ferry_image_load(path, &image);
  if (status == FERRY_OK) status = ferry_session_set_image(session, &image);
  if (status == FERRY_OK) status = ferry_session_run(session);
  if (status == FERRY_OK) status = ferry_session_top_classes(session, top, &count);
  if (status == FERRY_OK) {
    for (size_t i = 0; i < count; ++i) {
      char label[256]; /* a label is whatever the file has: printed as one line without escape sequences */
      ferry_printable(top[i].label, false, label, sizeof(label));
      printf("%5.1f%%  %d %s\n", 100 * top[i].probability, (int)top[i].index, label);
    }
  }
  ferry_image_free(&image);
  return status;
}

int main(int argc, char** argv) {
  ferry_model* model = NULL;
  ferry_session* session = NULL;
  if (argc < 3) {
    fprintf(stderr, "usage: classify MODEL.ferry IMAGE...\n");
    return 2;
  }

  ferry_status status = ferry_model_open(argv[1], &model);
  if (status == FERRY_OK) status = ferry_session_create(model, NULL, &session);
  /* The session is created once: each further image costs only a run. */
  for (int i = 2; i < argc && status == FERRY_OK; ++i) {
    if (argc > 3) printf("%s\n", argv[i]);
    status = classify(session, argv[i]);
  }
  if (status != FERRY_OK) fprintf(stderr, "classify: %s\n", ferry_last_error());

  ferry_session_close(session);
  ferry_model_close(model);
  return status == FERRY_OK ? 0 : 2;
}
