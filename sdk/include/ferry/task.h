/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - tasks: an image as input, an answer as output, in the coordinates of that image.
 *
 *   ferry_task* task;
 *   ferry_image photo;
 *   if (ferry_task_open(model, NULL, &task) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_image_load("photo.jpg", &photo) != FERRY_OK) return fail(ferry_last_error());
 *   ferry_request request = FERRY_INIT(ferry_request);
 *   request.image = &photo;
 *   ferry_answer answer = FERRY_INIT(ferry_answer);
 *   if (ferry_task_run(task, &request, &answer) != FERRY_OK) return fail(ferry_last_error());
 *   if (answer.kind == FERRY_ANSWER_MAP) {  // depth
 *     use(answer.map, answer.width, answer.height);
 *     if (ferry_answer_save(&answer, "depth.png", FERRY_SAVE_COLOURS) != FERRY_OK) return fail(ferry_last_error());
 *   }
 *   ferry_image_free(&photo);
 *   ferry_task_close(task);
 *
 * The blob stores its task and its preprocessing; ferry_model_task() describes them. One call runs the network, or
 * several networks, on an image of any size. Maps, labels and masks have the size of the request's image. Margins that
 * the preprocessing crops repeat the nearest computed value.
 *
 * Errors, ownership and threads: as in ferry.h. A task keeps its model alive. One thread at a time may use it; any
 * thread may call ferry_task_cancel(). */
#ifndef FERRY_TASK_H_
#define FERRY_TASK_H_

#include <ferry/ferry.h>
#include <ferry/image.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum ferry_task_kind {
  FERRY_TASK_TENSORS = 0,        /* no task: run the network with a session */
  FERRY_TASK_CLASSIFICATION = 1, /* one class per image */
  FERRY_TASK_ENHANCEMENT = 2,    /* a larger or better image */
  FERRY_TASK_MULTI_LABEL = 3,    /* any number of classes per image */
  FERRY_TASK_EMBEDDING = 4,
  FERRY_TASK_TEXT = 5, /* a language model: text.h */
  FERRY_TASK_DEPTH = 6,
  FERRY_TASK_SEMANTIC_SEGMENTATION = 7, /* a class per pixel */
  FERRY_TASK_INPAINTING = 8,            /* the pixels under the request's mask are filled in */
  FERRY_TASK_PROMPTED_SEGMENTATION = 9, /* the mask of an object given by points or a box */
  FERRY_TASK_MATTING = 10,              /* the mask of the foreground, with soft edges */
  FERRY_TASK_DETECTION = 11,            /* boxes around objects of known classes */
  FERRY_TASK_OCR = 12,                  /* the text in an image: detection and recognition */
  FERRY_TASK_LANDMARKS = 13             /* the points of each object: of a hand, a face or a body */
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

/* What a task accepts besides the image: bits of ferry_task_info.prompts. */
enum {
  FERRY_PROMPT_MASK = 1,   /* ferry_request.mask, required */
  FERRY_PROMPT_POINTS = 2, /* ferry_request.points or box, required */
  FERRY_PROMPT_TILE = 4    /* ferry_request.tile, optional */
};

typedef struct ferry_task_info {
  size_t struct_size; /* set by the caller: sizeof(ferry_task_info) */
  ferry_task_kind kind;
  ferry_answer_kind answer; /* NONE if ferry_task_open() would refuse the model */
  uint32_t prompts;         /* bits: FERRY_PROMPT_... */
  const char* name;         /* "depth", for example; never NULL */
} ferry_task_info;

/* Describes the task of the model's graph. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_task(const ferry_model* model, ferry_task_info* info);

typedef struct ferry_task ferry_task;

/* `options` as for ferry_session_create(); NULL: the defaults. FERRY_UNSUPPORTED: the model has no such task. */
FERRY_NODISCARD FERRY_API ferry_status ferry_task_open(ferry_model* model, const ferry_session_options* options,
                                                       ferry_task** task);
/* Accepts NULL. */
FERRY_API void ferry_task_close(ferry_task* task);

/* A location in the image, in pixels from its top left corner. */
typedef struct ferry_point {
  float x;
  float y;
  bool outside; /* a point of the background, not of the object */
} ferry_point;

typedef struct ferry_box {
  float left;
  float top;
  float right; /* greater than left; bottom greater than top */
  float bottom;
} ferry_box;

/* Zeros mean the library's choice. */
typedef struct ferry_request {
  size_t struct_size;       /* set by the caller: sizeof(ferry_request) */
  const ferry_image* image; /* NULL: the image of the last run, for tasks with prompts; its network is not run again */
  int32_t top;              /* CLASSES: how many; 0: the model's default */
  int32_t tile;             /* side of the tiles of a large image, in input pixels; 0: automatic */
  void (*progress)(void* user, int32_t done, int32_t total); /* called after each part of the work; or NULL */
  void* user;
  const ferry_image* mask;   /* of the image's size: pixels with red above 127 are inpainted */
  const ferry_point* points; /* inside the image */
  size_t point_count;
  const ferry_box* box; /* a box around the object, which overlaps the image; or NULL */
  int32_t mask_index;   /* MASK: 0: the best; n: the network's n-th mask */
  bool refine;          /* MASK: use the last run's mask as a prompt, too; same image */
  /* Instead of `image`, for answers that need no pixels of it: CLASSES, VECTOR, MAP, LABELS, MASK, BOXES. Locations are
   * in the frame's upright image: ferry_frame_size(). */
  const ferry_frame* frame;
} ferry_request;

typedef enum ferry_sense {
  FERRY_SENSE_NEARNESS = 0, /* larger is nearer; scale and offset are unknown */
  FERRY_SENSE_METRES = 1    /* distance from the camera's plane in metres */
} ferry_sense;

/* A detected object. Its box is clipped to the image; landmarks may lie outside. Of FERRY_TASK_LANDMARKS, the box
 * encloses the landmarks. */
typedef struct ferry_detection {
  ferry_box box;
  float score;            /* 0 to 1 */
  int32_t index;          /* of the class */
  const char* label;      /* the class's name, owned by the model; "" if the blob has no labels */
  const float* landmarks; /* x, y of each, in the network's order; NULL if it has none */
  size_t landmark_count;
} ferry_detection;

/* A line of text. */
typedef struct ferry_line {
  float corners[8]; /* x, y of top left, top right, bottom right and bottom left, in reading order */
  float score;      /* 0 to 1: mean probability of its characters */
  const char* text; /* UTF-8 */
} ferry_line;

/* An answer. The field named after its kind holds it: FERRY_ANSWER_BOXES fills `boxes`. Its arrays belong to the task
 * and stay valid until the task's next run. */
typedef struct ferry_answer {
  size_t struct_size; /* set by the caller: sizeof(ferry_answer) */
  ferry_answer_kind kind;
  /* CLASSES: the most probable classes, best first. LABELS: the classes that occur, largest area first; `probability`
   * is their share of the image. */
  const ferry_class* classes;
  size_t class_count;
  const float* vector; /* VECTOR: the embedding */
  size_t vector_size;
  /* MAP, LABELS, MASK: the size of the request's image in pixels. */
  int32_t width;
  int32_t height;
  /* MAP: minimum and maximum of the finite values, and the meaning of values. */
  float minimum;
  float maximum;
  ferry_sense sense;
  const uint16_t* labels;       /* LABELS: one class per pixel */
  const uint8_t* mask;          /* MASK: 255 inside, 0 outside, values between at soft edges */
  float quality;                /* MASK by prompts: the network's estimate of intersection over union, or 0 */
  ferry_image image;            /* IMAGE: owned by the task */
  const ferry_detection* boxes; /* BOXES: best first */
  size_t box_count;
  const ferry_line* lines; /* LINES: top to bottom, and left to right within a row */
  size_t line_count;
  const float* map; /* MAP: a value per pixel, row by row */
  /* BOXES: 0 to 1, the probability that each landmark is visible, box after box; NULL if the network does not say. All
   * boxes have the same number of landmarks. */
  const float* landmark_scores;
  const char* const* landmark_names; /* BOXES: of the landmarks of every box; NULL if the blob has none */
  size_t landmark_name_count;
  const uint16_t*
      landmark_lines;         /* BOXES: pairs of landmarks that a drawing joins: a skeleton; NULL if there is none */
  size_t landmark_line_count; /* pairs */
} ferry_answer;

/* FERRY_INVALID_ARGUMENT: a required prompt is missing or does not match the image. FERRY_CANCELLED.
 * FERRY_OUT_OF_MEMORY: each run allocates memory for its answer. */
FERRY_NODISCARD FERRY_API ferry_status ferry_task_run(ferry_task* task, const ferry_request* request,
                                                      ferry_answer* answer);
/* Stops the current run, in any of its parts. Any thread may call it. */
FERRY_API void ferry_task_cancel(ferry_task* task);
/* The session of the model's graph, for ferry_session_report() and measurements; NULL for NULL. Do not run or resize
 * it. */
FERRY_API ferry_session* ferry_task_session(ferry_task* task);

typedef enum ferry_save_style {
  FERRY_SAVE_PLAIN = 0,   /* MAP: the nearest is white, the farthest black. LABELS: the class as grey level, at most 256
                           * classes */
  FERRY_SAVE_COLOURS = 1, /* MAP, LABELS: a colour map */
  FERRY_SAVE_16_BIT = 2   /* MAP: as plain with 65,536 levels; metres: in millimetres */
} ferry_save_style;

/* Writes MAP, LABELS, MASK or IMAGE as a PNG. A MAP is written as float32 values (Portable Float Map) if the name ends
 * in ".pfm". FERRY_INVALID_ARGUMENT: the name ends in another suffix than these and ".png", such as ".jpg".
 *
 * The file gets its name when it is complete: a failure leaves the former file. */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_save(const ferry_answer* answer, const char* path,
                                                         ferry_save_style style);
/* Writes the foreground of `image`, which a MASK selects, as a PNG (not ".jpg") with the mask as alpha. Colours at soft
 * edges are estimated (Forte, "Approximate Fast Foreground Colour Estimation", ICIP 2021). FERRY_INVALID_ARGUMENT: the
 * answer is not a mask, or `image` has another size. */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_save_foreground(const ferry_answer* answer,
                                                                    const ferry_image* image, const char* path);
/* Composites the same foreground over another image, which is resized to cover it. A background of one pixel is a plain
 * colour. Free `out` with ferry_image_free(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_composite(const ferry_answer* answer, const ferry_image* image,
                                                              const ferry_image* background, ferry_image* out);
/* Draws BOXES, with their landmarks and skeletons, or LINES on the image. Landmarks of a score below one half are left
 * out. Free `out` with ferry_image_free(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_answer_draw(const ferry_answer* answer, const ferry_image* image,
                                                         ferry_image* out);
/* The colour of class `index` in FERRY_SAVE_COLOURS as 0xRRGGBB, for legends. */
FERRY_API uint32_t ferry_label_colour(int32_t index);

/* Labels, names and generated texts come from files, which may hide escape sequences for terminals in them, marks that
 * reverse text, or line ends. Copies `text` (NULL: "") to `out` for people. `lines` false: as one line, in which these
 * become "\\n", "\\x1b" or "\\u202e"; true: line ends and tabs stay, the other ones are removed. Like snprintf(), it
 * writes at most `size` bytes with the terminating zero (whole characters), and returns the size of the whole result
 * without it. `out` may be NULL if `size` is 0. */
FERRY_API size_t ferry_printable(const char* text, bool lines, char* out, size_t size);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_TASK_H_ */
