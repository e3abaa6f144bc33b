/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - what a model is for: an image in, the answer out, in the pixels of that image.
 *
 *   ferry_task* task;
 *   ferry_image photo;
 *   if (ferry_task_open(model, NULL, &task) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_image_load("photo.jpg", &photo) != FERRY_OK) return fail(ferry_last_error());
 *   ferry_request request = FERRY_INIT(ferry_request);
 *   request.image = &photo;
 *   ferry_answer answer = FERRY_INIT(ferry_answer);
 *   if (ferry_task_run(task, &request, &answer) != FERRY_OK) return fail(ferry_last_error());
 *   if (answer.kind == FERRY_ANSWER_MAP) {  // of depth
 *     use(answer.map, answer.width, answer.height);
 *     if (ferry_answer_save(&answer, "depth.png", FERRY_SAVE_COLOURS) != FERRY_OK) return fail(ferry_last_error());
 *   }
 *   ferry_image_free(&photo);
 *   ferry_task_close(task);
 *
 * The blob says what its network is for and how images are prepared; ferry_model_task() tells. One call runs the
 * network, or several networks, on an image of any size. Maps, labels and masks have the size of the image that was
 * given, whatever the recipe did to it; where the recipe cuts margins off, they repeat the nearest known value.
 *
 * Errors, ownership and threads: as in ferry.h. A task keeps its model alive and is used by one thread at a time, but
 * for ferry_task_cancel(). */
#ifndef FERRY_TASK_H_
#define FERRY_TASK_H_

#include <ferry/ferry.h>
#include <ferry/image.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum ferry_task_kind {
  FERRY_TASK_TENSORS = 0,        /* none: the network is run by a session */
  FERRY_TASK_CLASSIFICATION = 1, /* of all classes one is right */
  FERRY_TASK_ENHANCEMENT = 2,    /* a larger or better image */
  FERRY_TASK_MULTI_LABEL = 3,    /* any of the classes may be right */
  FERRY_TASK_EMBEDDING = 4,
  FERRY_TASK_TEXT = 5, /* a language model: text.h */
  FERRY_TASK_DEPTH = 6,
  FERRY_TASK_SEMANTIC_SEGMENTATION = 7, /* each pixel's class */
  FERRY_TASK_INPAINTING = 8,            /* what the request's mask covers is painted anew */
  FERRY_TASK_PROMPTED_SEGMENTATION = 9, /* the mask of what points or a box show */
  FERRY_TASK_MATTING = 10,              /* the mask of what stands in front, with its soft edges */
  FERRY_TASK_DETECTION = 11,            /* boxes around things of known classes */
  FERRY_TASK_READING = 12               /* the text in an image */
} ferry_task_kind;

typedef enum ferry_answer_kind {
  FERRY_ANSWER_NONE = 0,
  FERRY_ANSWER_CLASSES = 1,
  FERRY_ANSWER_VECTOR = 2,
  FERRY_ANSWER_MAP = 3,
  FERRY_ANSWER_LABELS = 4,
  FERRY_ANSWER_MASK = 5,
  FERRY_ANSWER_IMAGE = 6,
  FERRY_ANSWER_BOXES = 7,
  FERRY_ANSWER_LINES = 8
} ferry_answer_kind;

/* What a task takes beside the image: bits of ferry_task_info.prompts. */
enum {
  FERRY_PROMPT_MASK = 1,   /* ferry_request.mask, needed */
  FERRY_PROMPT_POINTS = 2, /* ferry_request.points or box, needed */
  FERRY_PROMPT_TILE = 4    /* ferry_request.tile */
};

typedef struct ferry_task_info {
  size_t struct_size; /* set by the caller: sizeof(ferry_task_info) */
  ferry_task_kind kind;
  ferry_answer_kind answer; /* NONE where ferry_task_open() would refuse the model */
  uint32_t prompts;         /* FERRY_PROMPT_... */
  const char* name;         /* in words: "depth"; never NULL */
} ferry_task_info;

/* What the model's graph is for. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_task(const ferry_model* model, ferry_task_info* info);

typedef struct ferry_task ferry_task;

/* `options` as for ferry_session_create(); NULL: the defaults. FERRY_UNSUPPORTED for a model without such a task. */
FERRY_NODISCARD FERRY_API ferry_status ferry_task_open(ferry_model* model, const ferry_session_options* options,
                                                       ferry_task** task);
/* NULL is allowed. */
FERRY_API void ferry_task_close(ferry_task* task);

/* A place in the image, in pixels from its top left corner. */
typedef struct ferry_point {
  float x;
  float y;
  bool outside; /* does not belong to the thing that is meant */
} ferry_point;

typedef struct ferry_box {
  float left;
  float top;
  float right; /* beyond left, and bottom beyond top */
  float bottom;
} ferry_box;

/* What is zero is left to the library. */
typedef struct ferry_request {
  size_t struct_size;       /* set by the caller: sizeof(ferry_request) */
  const ferry_image* image; /* NULL: the last run's, where the task has prompts; then its network is not run again */
  int32_t top;              /* CLASSES: how many; 0: as many as the model says */
  int32_t tile;             /* side of the tiles that a large image is cut into, in its pixels; 0: automatic */
  void (*progress)(void* user, int32_t done, int32_t total); /* NULL, or told of each part of the work */
  void* user;
  const ferry_image* mask;   /* of the image's size: where its red is above 127 the image is painted anew */
  const ferry_point* points; /* within the image */
  size_t point_count;
  const ferry_box* box; /* NULL, or around the thing; it overlaps the image */
  int32_t mask_index;   /* MASK: 0: the best; otherwise the network's first, second... mask */
  bool refine;          /* MASK: the last run's mask is a prompt, too; of the same image */
  /* In the place of `image`, for answers that need none of its pixels: CLASSES, VECTOR, MAP, LABELS, MASK, BOXES.
   * Places are those of the frame's image, upright: ferry_frame_size(). */
  const ferry_frame* frame;
} ferry_request;

typedef enum ferry_sense {
  FERRY_SENSE_NEARNESS = 0, /* the larger the nearer; scale and offset are unknown */
  FERRY_SENSE_METRES = 1    /* distance from the camera's plane */
} ferry_sense;

/* A thing that was found. Its box ends where the image ends; landmarks may lie beyond. */
typedef struct ferry_detection {
  ferry_box box;
  float score;            /* 0 to 1 */
  int32_t index;          /* of its class */
  const char* label;      /* the class's name, "" where the blob has none; the model's */
  const float* landmarks; /* x, y of each, in the network's order; NULL where it gives none */
  size_t landmark_count;
} ferry_detection;

/* A line of text. */
typedef struct ferry_line {
  float corners[8]; /* x, y of the top left, top right, bottom right and bottom left one, as the line is read */
  float score;      /* 0 to 1: the mean probability of its characters */
  const char* text; /* UTF-8 */
} ferry_line;

/* An answer. The field named after its kind holds it: FERRY_ANSWER_BOXES fills `boxes`. Memory belongs to the task, and
 * is valid until its next run. */
typedef struct ferry_answer {
  size_t struct_size; /* set by the caller: sizeof(ferry_answer) */
  ferry_answer_kind kind;
  /* CLASSES: the most probable, best first. LABELS: those that occur, largest first, and in the place of a probability
   * their share of the image. */
  const ferry_class* classes;
  size_t class_count;
  const float* vector; /* VECTOR: the embedding */
  size_t vector_size;
  /* MAP, LABELS, MASK: the size of the image that was given. */
  int32_t width;
  int32_t height;
  /* MAP: the minimum and maximum of its finite values, and what the values mean. */
  float minimum;
  float maximum;
  ferry_sense sense;
  const uint16_t* labels;       /* LABELS: a class a pixel */
  const uint8_t* mask;          /* MASK: 255 within, 0 outside, between where both can be seen */
  float quality;                /* MASK by prompts: the network's guess of intersection over union; otherwise 0 */
  ferry_image image;            /* IMAGE: not owned */
  const ferry_detection* boxes; /* BOXES: best first */
  size_t box_count;
  const ferry_line* lines; /* LINES: from top to bottom, in a row from left to right */
  size_t line_count;
  const float* map; /* MAP: a value per pixel, row by row */
} ferry_answer;

/* FERRY_INVALID_ARGUMENT: a prompt that the task needs is missing, or does not fit the image. FERRY_CANCELLED. The
 * answer's memory is taken anew at each run: FERRY_OUT_OF_MEMORY. */
FERRY_NODISCARD FERRY_API ferry_status ferry_task_run(ferry_task* task, const ferry_request* request,
                                                      ferry_answer* answer);
/* Makes the run in progress stop, whichever of its parts is under way. Any thread. */
FERRY_API void ferry_task_cancel(ferry_task* task);
/* The session of the model's graph, for ferry_session_report() and what is measured; NULL of NULL. To run or to resize
 * it is the task's affair. */
FERRY_API ferry_session* ferry_task_session(ferry_task* task);

typedef enum ferry_save_style {
  FERRY_SAVE_PLAIN = 0,   /* MAP: nearest white, farthest black. LABELS: the class as level, at most 256 classes */
  FERRY_SAVE_COLOURS = 1, /* MAP, LABELS: to look at */
  FERRY_SAVE_16_BIT = 2   /* MAP: as plain in 65,536 levels; metres: as millimetres */
} ferry_save_style;

/* Writes MAP, LABELS, MASK or IMAGE as a PNG; a MAP to a name that ends in ".pfm" as its numbers (Portable Float
 * Map). Written beside `path`, then renamed: no partial file is left behind. */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_save(const ferry_answer* answer, const char* path,
                                                         ferry_save_style style);
/* What a MASK covers of the image that it was made of, as a PNG with the mask as alpha. Where both can be seen, the
 * colours are those of what is in front (Forte, "Approximate Fast Foreground Colour Estimation", ICIP 2021). */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_cut_out(const ferry_answer* answer, const ferry_image* image,
                                                            const char* path);
/* The same over another image, which is resized to cover it; free `out` with ferry_image_free(). An image of one
 * pixel is a colour. */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_composite(const ferry_answer* answer, const ferry_image* image,
                                                              const ferry_image* background, ferry_image* out);
/* BOXES and LINES drawn on the image that they were found in; free `out` with ferry_image_free(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_draw(const ferry_answer* answer, const ferry_image* image,
                                                         ferry_image* out);
/* The colour of class `index` in FERRY_SAVE_COLOURS, as 0xRRGGBB: for legends. */
FERRY_API uint32_t ferry_label_colour(int32_t index);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_TASK_H_ */
