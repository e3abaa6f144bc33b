/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - images in, answers out: the preprocessing and postprocessing that travel inside the blob.
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
 * Images are 8-bit RGB, rows from the top, `stride` bytes from one row to the next.
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

/* Decodes JPEG, PNG or BMP from a file or from memory; grey becomes RGB, alpha is dropped, photos are turned
 * upright by their Exif orientation. FERRY_NOT_AN_IMAGE, FERRY_IMAGE_DAMAGED, FERRY_IMAGE_TOO_LARGE: more than
 * 32768 pixels a side or 2^28 in all. */
FERRY_NODISCARD FERRY_API ferry_status ferry_image_load(const char* path, ferry_image* image);
FERRY_NODISCARD FERRY_API ferry_status ferry_image_decode(const void* data, size_t size, ferry_image* image);
/* Writes a PNG beside `path`, then renames it: no partial file is left behind. */
FERRY_NODISCARD FERRY_API ferry_status ferry_image_save_png(const ferry_image* image, const char* path);
/* Frees owned pixels and clears the struct. NULL is allowed. */
FERRY_API void ferry_image_free(ferry_image* image);

/* Resizes, crops and normalises the image into input 0 by the blob's recipe. A model whose recipe has no resize
 * (image to image) is resized to the image's size. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_set_image(ferry_session* session, const ferry_image* image);
/* One image of a batch: input 0 is [N,H,W,C], after ferry_session_resize() where the blob leaves N open, and this
 * prepares its image `index`. The others stay. All are of one size: FERRY_SHAPE_MISMATCH where the recipe makes
 * another of this one. FERRY_INVALID_ARGUMENT: there is no such place in the batch. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_set_image_at(ferry_session* session, size_t index,
                                                                  const ferry_image* image);

/* An image as a camera or a decoder gives it, which is not copied nor turned into RGB as a whole:
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
 * Planes: in 4:2:0 a sample of chroma is for 2x2 pixels (what is odd is rounded up), in YUY2 for 2 of a row; it holds
 * for each of them as it is. */
typedef enum ferry_frame_format {
  FERRY_FRAME_YUV420 = 1, /* Y, U, V; any pixel strides: I420, and Android's YUV_420_888 as it comes */
  FERRY_FRAME_NV12 = 2,   /* Y, UV: one plane of pairs */
  FERRY_FRAME_NV21 = 3,   /* Y, VU */
  FERRY_FRAME_P010 = 4,   /* as NV12 in 16 bits, little-endian, of which the upper 10 count */
  FERRY_FRAME_YUY2 = 5,   /* Y U Y V for two pixels; also called YUYV */
  FERRY_FRAME_RGBA = 6,   /* what is fourth is not read */
  FERRY_FRAME_BGRA = 7,
  FERRY_FRAME_RGB = 8,
  FERRY_FRAME_GRAY = 9 /* luma alone */
} ferry_frame_format;

typedef struct ferry_plane {
  const uint8_t* data;
  size_t size;        /* bytes that may be read from `data` on */
  int32_t row_stride; /* bytes from one row to the next; 0: no gaps */
  /* Bytes from one sample, pair or pixel of this plane to the next (YUY2: two pixels); 0: no gaps. */
  int32_t pixel_stride;
} ferry_plane;

/* Of YUV and grey. */
typedef enum ferry_yuv_range {
  FERRY_RANGE_FULL = 0,   /* 0 to 255, as JPEG and most cameras of phones */
  FERRY_RANGE_LIMITED = 1 /* 16 to 235, chroma to 240, as most video */
} ferry_yuv_range;

typedef enum ferry_yuv_matrix {
  FERRY_MATRIX_BT601 = 0, /* JPEG, phones' cameras, video in standard definition */
  FERRY_MATRIX_BT709 = 1, /* video in high definition */
  FERRY_MATRIX_BT2020 = 2 /* of non-constant luminance; colours stay in the frame's own space */
} ferry_yuv_matrix;

/* What is zero is the whole frame as it lies in memory, BT.601 in full range. */
typedef struct ferry_frame {
  size_t struct_size; /* set by the caller: sizeof(ferry_frame) */
  ferry_frame_format format;
  int32_t width; /* pixels, as they lie in memory */
  int32_t height;
  ferry_plane planes[3]; /* as many as the format has */
  int32_t rotation;      /* 0, 90, 180 or 270: degrees clockwise that turn it upright; a camera's orientation */
  bool mirror;           /* then left and right change sides, as in a front camera's preview */
  ferry_yuv_range range;
  ferry_yuv_matrix matrix;
  /* The part that is the image, in the frame's pixels as they lie in memory. Width and height 0: all of it. */
  int32_t crop_left;
  int32_t crop_top;
  int32_t crop_width;
  int32_t crop_height;
  /* Where the planes lie if not in the app's memory: then `data` of each is NULL, it begins at its offset, and the
   * session's GPU reads it there. */
  const struct ferry_gpu_memory* gpu_memory;
  size_t gpu_offsets[3]; /* bytes from its beginning */
} ferry_frame;

/* The size of the frame's image: the crop, upright. Places in answers are places in it. FERRY_INVALID_ARGUMENT, and
 * 0x0: as for ferry_session_set_frame(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_frame_size(const ferry_frame* frame, int32_t* width, int32_t* height);

/* As ferry_session_set_image(): the same image in RGB would give each level of the input within 1. Row by row, each
 * read once, without a copy; takes memory only where a frame has another size, crop, orientation or format than the
 * last one. FERRY_INVALID_ARGUMENT: what a plane says of its size is not so, and the like. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_set_frame(ferry_session* session, const ferry_frame* frame);

/* Memory that a camera or a decoder writes, or the app, and a GPU reads without a copy: imported once, then named by
 * any number of frames.
 *
 *   ferry_memory_source source = FERRY_INIT(ferry_memory_source);
 *   source.type = FERRY_MEMORY_DMA_BUF;
 *   source.fd = buffer_fd;  // what VIDIOC_EXPBUF gave
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
 * Input 0 is then on the GPU alone, as if it was bound (vulkan.h): ferry_session_input()'s memory is not read, until a
 * image or a frame in the app's own memory is set, or the input resized. The frame is read before
 * ferry_session_set_frame() returns. */
typedef struct ferry_gpu_memory ferry_gpu_memory;

typedef enum ferry_memory_type {
  FERRY_MEMORY_HOST = 1,    /* the app's own, at `address`, where the device reads it in place */
  FERRY_MEMORY_DMA_BUF = 2, /* Linux: `fd`, which stays the app's */
  /* Android: `address` is an AHardwareBuffer of the format BLOB with the usage GPU_DATA_BUFFER, which is held */
  FERRY_MEMORY_HARDWARE_BUFFER = 3
} ferry_memory_type;

typedef struct ferry_memory_source {
  size_t struct_size; /* set by the caller: sizeof(ferry_memory_source) */
  ferry_memory_type type;
  int32_t fd;
  void* address;
  size_t bytes;
} ferry_memory_source;

/* For frames of this session, and of others on its device. FERRY_MEMORY_HOST stays where it is until the memory is
 * closed and no run uses it; address and bytes are multiples of what the device asks for, mostly 4096.
 * FERRY_GPU_UNAVAILABLE: the session is on the CPU. FERRY_UNSUPPORTED: the device or its driver imports no such memory;
 * frames in the app's memory remain. */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_memory_import(ferry_session* session,
                                                               const ferry_memory_source* source,
                                                               ferry_gpu_memory** memory);
/* Sessions that read a frame in it may still be open. NULL is allowed. */
FERRY_API void ferry_gpu_memory_close(ferry_gpu_memory* memory);

/* Rows and columns of patches that the recipe cuts an image of that size into, where input 0 is a list of them
 * [patches, numbers]: further inputs may have to be of as many. FERRY_INVALID_ARGUMENT: the recipe cuts none, or the
 * image is too small, large or long for it. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_image_patches(const ferry_model* model, int32_t width,
                                                                 int32_t height, int32_t* rows, int32_t* columns);

typedef struct ferry_class {
  int32_t index;
  float probability; /* softmax of the logits; their sigmoid where the model allows several classes at once */
  const char* label; /* the model's; "" where it has none */
} ferry_class;

/* The most probable classes of the last run, best first. *count: room on entry, number written on return.
 * FERRY_INVALID_ARGUMENT: nothing was run since the session was made or resized, the last run failed, or it was one of
 * a batch. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_top_classes(ferry_session* session, ferry_class* classes,
                                                                 size_t* count);
/* Those of image `index` of a batch. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_top_classes_at(ferry_session* session, size_t index,
                                                                    ferry_class* classes, size_t* count);

/* The image's embedding of the last run: pooled features, divided by their length where the model says so. *count:
 * room on entry, how many numbers there are on return; too little room is FERRY_INVALID_ARGUMENT. `embedding` NULL:
 * only *count is written. Without a run, and of a batch: as ferry_session_top_classes(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_embedding(ferry_session* session, float* embedding, size_t* count);
/* That of image `index` of a batch. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_embedding_at(ferry_session* session, size_t index,
                                                                  float* embedding, size_t* count);

/* Image to image, whole: tiles the image (overlapping by the blob's halo, so that no seam shows), runs each tile and
 * joins the results. `tile` is the tile's side in input pixels without the overlap, 0: the library's choice. Where the
 * network takes whole cells of pixels alone (the blob's multiple_of), the image is mirrored at its right and bottom
 * edge up to the next, and the result cut. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_enhance(ferry_session* session, const ferry_image* image,
                                                             int32_t tile, ferry_image* out);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_IMAGE_H_ */
