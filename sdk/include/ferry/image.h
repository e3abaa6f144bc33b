/* image.h - pictures in, answers out: the preprocessing and postprocessing that travel inside the blob.
 *
 *   ferry_image photo;
 *   if (ferry_image_load("photo.jpg", &photo) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_session_set_image(session, &photo) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_session_run(session) != FERRY_OK) return fail(ferry_last_error());
 *   ferry_class top[5];
 *   size_t n = 5;
 *   if (ferry_session_top_classes(session, top, &n) != FERRY_OK) return fail(ferry_last_error());
 *   printf("%s %.3f\n", top[0].label, top[0].probability);
 *   ferry_image_free(&photo);
 *
 * Pictures are 8-bit RGB, rows from the top, `stride` bytes from one row to the next.
 * Errors, ownership and threads: as in ferry.h.
 */
#ifndef FERRY_IMAGE_H_
#define FERRY_IMAGE_H_

#include <ferry/ferry.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct ferry_image {
  uint8_t* pixels; /* RGBRGB... */
  int32_t width;
  int32_t height;
  int32_t stride; /* bytes, at least 3 * width */
  bool owned;     /* ferry_image_free() frees pixels */
} ferry_image;

/* Decodes JPEG, PNG or BMP from a file or from memory; grey becomes RGB, alpha is dropped, photos are turned
 * upright by their Exif orientation. */
FERRY_NODISCARD FERRY_API ferry_status ferry_image_load(const char* path, ferry_image* image);
FERRY_NODISCARD FERRY_API ferry_status ferry_image_decode(const void* data, size_t size, ferry_image* image);
/* Writes a PNG beside `path`, then renames it: no partial file is left behind. */
FERRY_NODISCARD FERRY_API ferry_status ferry_image_save_png(const ferry_image* image, const char* path);
/* Frees owned pixels and clears the struct. NULL is allowed. */
FERRY_API void ferry_image_free(ferry_image* image);

/* Resizes, crops and normalises the picture into input 0 by the blob's recipe. A model whose recipe has no resize
 * (image to image) is resized to the picture's size. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_set_image(ferry_session* session, const ferry_image* image);

/* Rows and columns of patches that the recipe cuts a picture of that size into, where input 0 is a list of them
 * [patches, numbers]: further inputs may have to be of as many. FERRY_INVALID_ARGUMENT: the recipe cuts none, or the
 * picture is too small, large or long for it. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_image_patches(const ferry_model* model, int32_t width,
                                                                 int32_t height, int32_t* rows, int32_t* columns);

typedef struct ferry_class {
  int32_t index;
  float probability; /* softmax of the logits; their sigmoid where the model allows several classes at once */
  const char* label; /* the model's; "" where it has none */
} ferry_class;

/* The most probable classes of the last run, best first. *count: room on entry, number written on return. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_top_classes(ferry_session* session, ferry_class* classes,
                                                                 size_t* count);

/* The picture's embedding of the last run: pooled features, divided by their length where the model says so. *count:
 * room on entry, how many numbers there are on return; too little room is FERRY_INVALID_ARGUMENT. `embedding` NULL:
 * only *count is written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_embedding(ferry_session* session, float* embedding, size_t* count);

/* Image to image, whole: tiles the picture (overlapping by the blob's halo, so that no seam shows), runs each tile and
 * joins the results. `tile` is the tile's side in input pixels without the overlap, 0: the library's choice. Where the
 * network takes whole cells of pixels alone (the blob's multiple_of), the picture is mirrored at its right and bottom
 * edge up to the next, and the result cut. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_enhance(ferry_session* session, const ferry_image* image,
                                                             int32_t tile, ferry_image* out);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_IMAGE_H_ */
