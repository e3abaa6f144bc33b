/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - images as inputs: decoding, the blob's preprocessing, camera frames, classes and embeddings.
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
 * Images are 8-bit RGB, top row first, `stride` bytes from one row to the next.
 * Errors, ownership and threads: as in ferry.h. */
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

/* Decodes JPEG, PNG or BMP from a file or from memory. Grey becomes RGB, alpha is dropped, and Exif orientation is
 * applied. FERRY_NOT_AN_IMAGE, FERRY_IMAGE_DAMAGED. FERRY_IMAGE_TOO_LARGE: more than 32768 pixels a side or 2^28 in
 * all. Free `image` with ferry_image_free(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_image_load(const char* path, ferry_image* image);
FERRY_NODISCARD FERRY_API ferry_status ferry_image_decode(const void* data, size_t size, ferry_image* image);
/* Writes a PNG, whatever the suffix. The file gets its name when it is complete: a failure leaves the former file. */
FERRY_NODISCARD FERRY_API ferry_status ferry_image_save_png(const ferry_image* image, const char* path);
/* Frees owned pixels and clears the struct. Accepts NULL. */
FERRY_API void ferry_image_free(ferry_image* image);

/* Resizes, crops and normalises the image into input 0, as the blob's preprocessing says. If that has no resize
 * (image-to-image networks), input 0 is resized to the image's size. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_set_image(ferry_session* session, const ferry_image* image);
/* Prepares image `index` of a batch: input 0 is [N,H,W,C], and ferry_session_resize() sets N if the blob leaves it
 * open. The other images are unchanged. FERRY_SHAPE_MISMATCH: the preprocessed image has another size than the batch.
 * FERRY_INVALID_ARGUMENT: `index` is not below N. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_set_image_at(ferry_session* session, size_t index,
                                                                  const ferry_image* image);

/* An image in the memory of a camera or a decoder. It is read without a copy and without a whole RGB image:
 *
 *   ferry_frame frame = FERRY_INIT(ferry_frame);
 *   const ferry_plane y = {luma, luma_bytes, 1920, 0}, vu = {chroma, chroma_bytes, 1920, 0};
 *   frame.format = FERRY_FRAME_NV21;
 *   frame.width = 1920;
 *   frame.height = 1080;
 *   frame.planes[0] = y;
 *   frame.planes[1] = vu;
 *   frame.rotation = 90;  // a phone held upright
 *   if (ferry_session_set_frame(session, &frame) != FERRY_OK) return fail(ferry_last_error());
 *
 * Chroma: in 4:2:0 one sample covers 2x2 pixels (odd sizes are rounded up), in YUY2 two pixels of a row. Chroma is not
 * interpolated. */
typedef enum ferry_frame_format {
  FERRY_FRAME_YUV420 = 1, /* Y, U, V with any pixel strides: I420, and Android's YUV_420_888 */
  FERRY_FRAME_NV12 = 2,   /* Y, UV: one plane of pairs */
  FERRY_FRAME_NV21 = 3,   /* Y, VU */
  FERRY_FRAME_P010 = 4,   /* as NV12 in 16 bits, little-endian; the upper 10 bits are used */
  FERRY_FRAME_YUY2 = 5,   /* Y U Y V for two pixels; also known as YUYV */
  FERRY_FRAME_RGBA = 6,   /* the fourth byte is ignored */
  FERRY_FRAME_BGRA = 7,
  FERRY_FRAME_RGB = 8,
  FERRY_FRAME_GRAY = 9 /* luma only */
} ferry_frame_format;

typedef struct ferry_plane {
  const uint8_t* data;
  size_t size;        /* bytes that may be read from `data` */
  int32_t row_stride; /* bytes from one row to the next; 0: no gaps */
  /* Bytes from one sample, pair or pixel of this plane to the next (YUY2: two pixels); 0: no gaps. */
  int32_t pixel_stride;
} ferry_plane;

/* Value range of YUV and grey. */
typedef enum ferry_yuv_range {
  FERRY_RANGE_FULL = 0,   /* 0 to 255: JPEG and most phone cameras */
  FERRY_RANGE_LIMITED = 1 /* 16 to 235, chroma to 240: most video */
} ferry_yuv_range;

typedef enum ferry_yuv_matrix {
  FERRY_MATRIX_BT601 = 0, /* JPEG, phone cameras, standard-definition video */
  FERRY_MATRIX_BT709 = 1, /* high-definition video */
  FERRY_MATRIX_BT2020 = 2 /* non-constant luminance; colours stay in the frame's colour space */
} ferry_yuv_matrix;

/* Zeros mean the whole frame, not rotated, BT.601 in full range. */
typedef struct ferry_frame {
  size_t struct_size; /* set by the caller: sizeof(ferry_frame) */
  ferry_frame_format format;
  int32_t width; /* pixels, before rotation */
  int32_t height;
  ferry_plane planes[3]; /* as many as the format has */
  int32_t rotation;      /* 0, 90, 180 or 270: degrees clockwise to upright, the camera's orientation */
  bool mirror;           /* swap left and right after rotation, as in a front camera's preview */
  ferry_yuv_range range;
  ferry_yuv_matrix matrix;
  /* The part of the frame to use, in pixels before rotation. Width and height 0: all of it. */
  int32_t crop_left;
  int32_t crop_top;
  int32_t crop_width;
  int32_t crop_height;
  /* Memory of the planes if it is not the app's: then `data` of each plane is NULL, the planes start at gpu_offsets,
   * and the session's GPU reads them directly. */
  const struct ferry_gpu_memory* gpu_memory;
  size_t gpu_offsets[3]; /* bytes from the beginning of gpu_memory */
} ferry_frame;

/* The size of the frame's image: the crop, upright. Locations in answers refer to it. FERRY_INVALID_ARGUMENT, and 0x0:
 * as for ferry_session_set_frame(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_frame_size(const ferry_frame* frame, int32_t* width, int32_t* height);

/* As ferry_session_set_image(); each input level is within 1 of that of the same image in RGB. Each row is read once,
 * without a copy. Memory is allocated only if size, crop, orientation or format differ from the last frame.
 * FERRY_INVALID_ARGUMENT: a plane is too small, a stride or a format is invalid, and the like. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_set_frame(ferry_session* session, const ferry_frame* frame);

/* Memory that a camera, a decoder or the app writes and a GPU reads without a copy. Import it once; any number of
 * frames may use it.
 *
 *   ferry_memory_source source = FERRY_INIT(ferry_memory_source);
 *   source.type = FERRY_MEMORY_DMA_BUF;
 *   source.fd = buffer_fd;  // from VIDIOC_EXPBUF
 *   source.bytes = buffer_bytes;
 *   ferry_gpu_memory* memory;
 *   if (ferry_gpu_memory_import(session, &source, &memory) != FERRY_OK) return fail(ferry_last_error());
 *   // in every frame
 *   frame.gpu_memory = memory;
 *   frame.gpu_offsets[1] = 1920 * 1080;  // where chroma begins
 *   frame.planes[0].size = 1920 * 1080;
 *   frame.planes[1].size = 1920 * 540;
 *   if (ferry_session_set_frame(session, &frame) != FERRY_OK) return fail(ferry_last_error());
 *
 * Input 0 is then on the GPU only, as if bound (vulkan.h). The memory of ferry_session_input() is ignored until an
 * image or a frame in the app's memory is set, or the input is resized. ferry_session_set_frame() returns after the
 * frame is read. */
typedef struct ferry_gpu_memory ferry_gpu_memory;

typedef enum ferry_memory_type {
  FERRY_MEMORY_HOST = 1,    /* the app's memory at `address`, which the device reads directly */
  FERRY_MEMORY_DMA_BUF = 2, /* Linux: `fd`, which the app keeps and closes */
  /* Android: `address` is an AHardwareBuffer of format BLOB with usage GPU_DATA_BUFFER; a reference is kept */
  FERRY_MEMORY_HARDWARE_BUFFER = 3
} ferry_memory_type;

typedef struct ferry_memory_source {
  size_t struct_size; /* set by the caller: sizeof(ferry_memory_source) */
  ferry_memory_type type;
  int32_t fd;
  void* address;
  size_t bytes;
} ferry_memory_source;

/* Imports memory for frames of this session, and of other sessions on its device. FERRY_MEMORY_HOST must stay allocated
 * until the import is closed and no run uses it; address and bytes are multiples of the device's alignment, usually
 * 4096. FERRY_GPU_UNAVAILABLE: the session is on the CPU. FERRY_UNSUPPORTED: the device or its driver cannot import
 * such memory; use frames in the app's memory. */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_memory_import(ferry_session* session,
                                                               const ferry_memory_source* source,
                                                               ferry_gpu_memory** memory);
/* Releases the memory; sessions that read a frame in it may still be open. Accepts NULL. */
FERRY_API void ferry_gpu_memory_close(ferry_gpu_memory* memory);

/* Rows and columns of patches for an image of that size, if input 0 is a list of patches [patches, elements]. Further
 * inputs may need as many rows. FERRY_INVALID_ARGUMENT: the preprocessing makes no patches, or the image is too small,
 * too large or too elongated. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_image_patches(const ferry_model* model, int32_t width,
                                                                 int32_t height, int32_t* rows, int32_t* columns);

typedef struct ferry_class {
  int32_t index;
  float probability; /* softmax of the logits; sigmoid for multi-label models */
  const char* label; /* owned by the model; "" if it has no labels */
} ferry_class;

/* The most probable classes of the last run, best first. *count: capacity on entry, number written on return.
 * FERRY_INVALID_ARGUMENT: the session has not run since it was created or resized, the last run failed, or it was a
 * batch. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_top_classes(ferry_session* session, ferry_class* classes,
                                                                 size_t* count);
/* The classes of image `index` of a batch. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_top_classes_at(ferry_session* session, size_t index,
                                                                    ferry_class* classes, size_t* count);

/* The image embedding of the last run: pooled features, with L2 normalisation if the model uses it. *count: capacity on
 * entry, number of elements on return; FERRY_INVALID_ARGUMENT if the capacity is too small. `embedding` NULL: only
 * *count is written. Without a run, and for a batch: as ferry_session_top_classes(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_embedding(ferry_session* session, float* embedding, size_t* count);
/* The embedding of image `index` of a batch. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_embedding_at(ferry_session* session, size_t index,
                                                                  float* embedding, size_t* count);

/* Runs an image-to-image network on a whole image: in tiles, which overlap by the blob's halo so that no seam is
 * visible. `tile` is the tile's side in input pixels without the overlap; 0: automatic. If the network needs multiples
 * of a size (the blob's multiple_of), the image is padded by reflection at the right and bottom, and the result is
 * cropped. Free `out` with ferry_image_free(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_enhance(ferry_session* session, const ferry_image* image,
                                                             int32_t tile, ferry_image* out);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_IMAGE_H_ */
