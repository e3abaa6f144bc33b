// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera;

import android.content.Context;
import android.graphics.ImageFormat;
import android.graphics.SurfaceTexture;
import android.hardware.camera2.CameraAccessException;
import android.hardware.camera2.CameraCaptureSession;
import android.hardware.camera2.CameraCharacteristics;
import android.hardware.camera2.CameraDevice;
import android.hardware.camera2.CameraManager;
import android.hardware.camera2.CaptureRequest;
import android.hardware.camera2.params.StreamConfigurationMap;
import android.media.Image;
import android.media.ImageReader;
import android.os.Handler;
import android.os.HandlerThread;
import android.util.Size;
import android.view.Surface;
import java.util.Arrays;
import java.util.List;

/** One camera: its preview goes to a texture, its frames in YUV_420_888 to a listener, both at one size. */
public final class CameraSource implements ImageReader.OnImageAvailableListener {
  public interface Listener {
    /** Called in the camera's thread; the listener must call done() when it has read the image. */
    void onImage(CameraSource from, Image image);

    /** There will be no more frames, for this reason. */
    void onLost(String why);
  }

  private static final int LARGEST = 640 * 480;
  /** One is processed, one is the newest, one is being written. */
  private static final int IMAGES = 3;

  final boolean front;
  /** SENSOR_ORIENTATION. */
  final int sensorOrientation;
  final Size size;

  private final CameraManager manager;
  private final String id;
  private final Listener listener;
  private final HandlerThread thread = new HandlerThread("camera");
  private final Handler handler;
  private final ImageReader reader;
  private Surface preview;
  private CameraDevice device;
  // Used only by the camera's thread, once a camera is being opened.
  private boolean opening;
  private boolean closed;
  private int images; // with the listener

  /** A camera that faces that way, or the first one. */
  CameraSource(Context context, boolean front, Listener listener) throws CameraAccessException {
    this.listener = listener;
    manager = (CameraManager) context.getSystemService(Context.CAMERA_SERVICE);
    String[] ids = manager.getCameraIdList();
    if (ids.length == 0) throw new IllegalStateException("this device has no camera");
    String chosen = ids[0];
    int wanted = front ? CameraCharacteristics.LENS_FACING_FRONT : CameraCharacteristics.LENS_FACING_BACK;
    for (String each : ids) {
      Integer facing = manager.getCameraCharacteristics(each).get(CameraCharacteristics.LENS_FACING);
      if (facing != null && facing == wanted) {
        chosen = each;
        break;
      }
    }
    id = chosen;
    CameraCharacteristics all = manager.getCameraCharacteristics(id);
    Integer facing = all.get(CameraCharacteristics.LENS_FACING);
    this.front = facing != null && facing == CameraCharacteristics.LENS_FACING_FRONT;
    Integer orientation = all.get(CameraCharacteristics.SENSOR_ORIENTATION);
    sensorOrientation = orientation == null ? 0 : orientation;
    size = sizeOf(all.get(CameraCharacteristics.SCALER_STREAM_CONFIGURATION_MAP));
    reader = ImageReader.newInstance(size.getWidth(), size.getHeight(), ImageFormat.YUV_420_888, IMAGES);
    thread.start();
    handler = new Handler(thread.getLooper());
    reader.setOnImageAvailableListener(this, handler);
  }

  private static Size sizeOf(StreamConfigurationMap map) {
    Size best = null;
    Size[] sizes = map == null ? null : map.getOutputSizes(ImageFormat.YUV_420_888);
    if (sizes != null) {
      for (Size each : sizes) {
        int pixels = each.getWidth() * each.getHeight();
        if (pixels <= LARGEST && (best == null || pixels > best.getWidth() * best.getHeight())) best = each;
      }
    }
    return best != null ? best : new Size(640, 480); // which every camera supports
  }

  /** Requires the permission. */
  void start(SurfaceTexture texture) throws CameraAccessException {
    texture.setDefaultBufferSize(size.getWidth(), size.getHeight());
    preview = new Surface(texture);
    opening = true;
    boolean begun = false;
    try {
      open();
      begun = true;
    } finally {
      if (!begun) opening = false;
    }
  }

  private void open() throws CameraAccessException {
    manager.openCamera(id, new CameraDevice.StateCallback() {
      @Override
      public void onOpened(CameraDevice opened) {
        opening = false;
        device = opened;
        if (closed) {
          finish();
        } else {
          capture();
        }
      }

      @Override
      public void onDisconnected(CameraDevice lost) {
        end(lost, "the camera was taken by another app");
      }

      @Override
      public void onError(CameraDevice broken, int error) {
        end(broken, "the camera failed (error " + error + ")");
      }

      private void end(CameraDevice ended, String why) {
        opening = false;
        device = ended;
        finish();
        listener.onLost(why);
      }
    }, handler);
  }

  private void capture() {
    try {
      List<Surface> both = Arrays.asList(preview, reader.getSurface());
      device.createCaptureSession(both, new CameraCaptureSession.StateCallback() {
        @Override
        public void onConfigured(CameraCaptureSession session) {
          if (closed) return;
          try {
            CaptureRequest.Builder request = device.createCaptureRequest(CameraDevice.TEMPLATE_PREVIEW);
            request.addTarget(preview);
            request.addTarget(reader.getSurface());
            session.setRepeatingRequest(request.build(), null, handler);
          } catch (CameraAccessException | IllegalStateException e) {
            listener.onLost("the camera does not begin: " + e.getMessage());
          }
        }

        @Override
        public void onConfigureFailed(CameraCaptureSession session) {
          listener.onLost("the camera does not give " + size + " twice");
        }
      }, handler);
    } catch (CameraAccessException | IllegalStateException e) {
      listener.onLost("the camera cannot be used: " + e.getMessage());
    }
  }

  @Override
  public void onImageAvailable(ImageReader from) {
    Image image = closed ? null : from.acquireLatestImage();
    if (image == null) return;
    ++images;
    listener.onImage(this, image);
  }

  /** Closes an image of onImage(), from any thread. */
  void done(final Image image) {
    handler.post(new Runnable() {
      @Override
      public void run() {
        image.close();
        --images;
        if (closed) finish();
      }
    });
  }

  /** Closes it in the camera's thread, and frees the memory of its images when the last of them is done. */
  void close() {
    handler.post(new Runnable() {
      @Override
      public void run() {
        closed = true;
        finish();
      }
    });
  }

  /** Releases what can be released now; a camera that is still being opened is closed afterwards. */
  private void finish() {
    if (device != null) device.close();
    if (preview != null && !opening) preview.release();
    if (!closed || images > 0) return;
    reader.close();
    if (!opening) thread.quitSafely();
  }
}
