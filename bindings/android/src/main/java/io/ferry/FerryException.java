// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** An error of the library: getMessage() is its sentence, status() its ferry_status. */
public final class FerryException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The C API's ferry_status, with the same numbers and meanings (ferry.h). */
  public enum Status {
    INVALID_ARGUMENT(100),
    NOT_FOUND(101),
    SHAPE_MISMATCH(102),
    IO_ERROR(200),
    NOT_A_BLOB(201),
    UNSUPPORTED_VERSION(202),
    CORRUPT(203),
    UNSUPPORTED(204),
    OUT_OF_MEMORY(300),
    MEMORY_LIMIT(301),
    STATE_FULL(302),
    CANCELLED(400),
    BACKEND_ERROR(401),
    GPU_UNAVAILABLE(402),
    GPU_LOST(403),
    GPU_WRONG(404),
    NOT_AN_IMAGE(500),
    IMAGE_DAMAGED(501),
    IMAGE_TOO_LARGE(502),
    /** A status of a newer library. */
    OTHER(-1);

    final int code;

    Status(int code) {
      this.code = code;
    }

    static Status of(int code) {
      for (Status status : values()) {
        if (status.code == code) return status;
      }
      return OTHER;
    }
  }

  private final Status status;

  FerryException(int code, String sentence) {
    super(sentence);
    status = Status.of(code);
  }

  public Status status() {
    return status;
  }
}
