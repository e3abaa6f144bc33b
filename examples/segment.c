// SPDX-License-Identifier: Apache-2.0
/* segment - segments the object that points mark, interactively:
 *
 *     segment mobile_sam.ferry dog.jpg dog
 *     320,240          a pixel of the object: writes dog_1.png
 *     -40,12           a pixel outside of it: writes dog_2.png
 *
 * Points are read line by line from standard input, and each adds to the ones before. The large network sees the
 * image once; every further point costs the small one only.
 */
#include <ferry/ferry.h>
#include <ferry/task.h>
#include <stdio.h>

#define MAX_POINTS 32

/* "X,Y", or "-X,Y" for a point outside of the object. */
static bool read_point(const char* line, ferry_point* point) {
  point->outside = line[0] == '-';
  return sscanf(line + point->outside, "%f,%f", &point->x, &point->y) == 2;
}

static ferry_status segment(ferry_task* task, const char* path, const char* output) {
  ferry_image image;
  ferry_point points[MAX_POINTS];
  char line[64], file[512];

  ferry_status status = ferry_image_load(path, &image);
  ferry_request request = {.struct_size = sizeof(request), .image = &image, .points = points};
  ferry_answer answer = {.struct_size = sizeof(answer)};
  while (status == FERRY_OK && request.point_count < MAX_POINTS && fgets(line, sizeof(line), stdin) != NULL) {
    if (!read_point(line, &points[request.point_count])) {
      fprintf(stderr, "segment: expected X,Y or -X,Y\n");
      continue;
    }
    ++request.point_count;
    status = ferry_task_run(task, &request, &answer);
    if (status != FERRY_OK) break;
    request.image = NULL; /* the same image from now on */
    snprintf(file, sizeof(file), "%s_%d.png", output, (int)request.point_count);
    status = ferry_answer_save(&answer, file, FERRY_SAVE_PLAIN);
    printf("%s: quality %.3f\n", file, (double)answer.quality);
  }
  ferry_image_free(&image);
  return status;
}

int main(int argc, char** argv) {
  ferry_model* model = NULL;
  ferry_task* task = NULL;
  if (argc != 4) {
    fprintf(stderr, "usage: segment MODEL.ferry IMAGE OUTPUT\n");
    return 2;
  }
  ferry_status status = ferry_model_open(argv[1], &model);
  if (status == FERRY_OK) status = ferry_task_open(model, NULL, &task);
  if (status == FERRY_OK) status = segment(task, argv[2], argv[3]);
  if (status != FERRY_OK) fprintf(stderr, "segment: %s\n", ferry_last_error());
  ferry_task_close(task);
  ferry_model_close(model);
  return status == FERRY_OK ? 0 : 2;
}
