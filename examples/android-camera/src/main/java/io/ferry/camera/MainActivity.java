// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera;

import android.Manifest;
import android.app.Activity;
import android.content.pm.PackageManager;
import android.graphics.SurfaceTexture;
import android.hardware.camera2.CameraAccessException;
import android.media.Image;
import android.os.Bundle;
import android.view.Gravity;
import android.view.TextureView;
import android.view.View;
import android.view.ViewGroup;
import android.view.WindowManager;
import android.widget.Button;
import android.widget.CompoundButton;
import android.widget.FrameLayout;
import android.widget.LinearLayout;
import android.widget.Switch;
import android.widget.TextView;
import io.ferry.Frame;
import io.ferry.SessionOptions;

/** A camera's preview with the model's answers; below it the backend, the latency and the verification result. */
public final class MainActivity extends Activity
    implements CameraSource.Listener, Vision.Watcher, TextureView.SurfaceTextureListener {
  private TextureView preview;
  private OverlayView overlay;
  private Stage stage;
  private TextView status;
  private boolean front;
  private boolean gpu;
  private String ready = "";
  // Non-null between onResume() and onPause().
  private volatile Vision vision;
  private volatile CameraSource camera;

  /** As large as possible with the image's aspect ratio. */
  private static final class Stage extends FrameLayout {
    private int wide = 3;
    private int high = 4;

    Stage(Activity activity) {
      super(activity);
    }

    void setAspect(int width, int height) {
      wide = width;
      high = height;
      requestLayout();
    }

    @Override
    protected void onMeasure(int widthSpec, int heightSpec) {
      int width = View.MeasureSpec.getSize(widthSpec);
      int height = View.MeasureSpec.getSize(heightSpec);
      if (width * high > height * wide) {
        width = height * wide / high;
      } else {
        height = width * high / wide;
      }
      super.onMeasure(View.MeasureSpec.makeMeasureSpec(width, View.MeasureSpec.EXACTLY),
          View.MeasureSpec.makeMeasureSpec(height, View.MeasureSpec.EXACTLY));
    }
  }

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
    preview = new TextureView(this);
    overlay = new OverlayView(this);
    stage = new Stage(this);
    stage.addView(preview);
    stage.addView(overlay);
    status = new TextView(this);
    Switch onGpu = new Switch(this);
    onGpu.setText("GPU ");
    onGpu.setOnCheckedChangeListener(new CompoundButton.OnCheckedChangeListener() {
      @Override
      public void onCheckedChanged(CompoundButton button, boolean checked) {
        gpu = checked;
        if (vision != null) prepare();
      }
    });
    Button turn = new Button(this);
    turn.setText("Other camera");
    turn.setOnClickListener(new View.OnClickListener() {
      @Override
      public void onClick(View view) {
        front = !front;
        overlay.show(null);
        stop();
        begin();
      }
    });
    LinearLayout choices = new LinearLayout(this);
    choices.addView(onGpu);
    choices.addView(turn);
    LinearLayout all = new LinearLayout(this);
    all.setOrientation(LinearLayout.VERTICAL);
    all.setGravity(Gravity.CENTER_HORIZONTAL);
    all.setFitsSystemWindows(true);
    all.addView(stage, new LinearLayout.LayoutParams(ViewGroup.LayoutParams.MATCH_PARENT, 0, 1));
    all.addView(status);
    all.addView(choices);
    setContentView(all);
    preview.setSurfaceTextureListener(this);
  }

  private void prepare() {
    SessionOptions.Backend backend = gpu ? SessionOptions.Backend.GPU : SessionOptions.Backend.CPU;
    overlay.show(null);
    status.setText("Checking and preparing the model for the " + backend);
    vision.use(backend);
  }

  @Override
  protected void onResume() {
    super.onResume();
    if (checkSelfPermission(Manifest.permission.CAMERA) == PackageManager.PERMISSION_GRANTED) {
      begin();
    } else {
      requestPermissions(new String[] {Manifest.permission.CAMERA}, 0); // onResume() is called again
    }
  }

  @Override
  public void onRequestPermissionsResult(int request, String[] permissions, int[] results) {
    if (results.length > 0 && results[0] != PackageManager.PERMISSION_GRANTED) {
      status.setText("Without the camera there is nothing to see: its permission is in the system's settings");
    }
  }

  @Override
  protected void onPause() {
    stop();
    super.onPause();
  }

  private void begin() {
    boolean may = checkSelfPermission(Manifest.permission.CAMERA) == PackageManager.PERMISSION_GRANTED;
    if (!may || camera != null || !preview.isAvailable()) return;
    try {
      CameraSource opened = new CameraSource(this, front, this);
      boolean turned = opened.sensorOrientation % 180 != 0;
      int width = opened.size.getWidth();
      int height = opened.size.getHeight();
      stage.setAspect(turned ? height : width, turned ? width : height);
      vision = new Vision(this, this);
      prepare();
      camera = opened;
      opened.start(preview.getSurfaceTexture());
    } catch (CameraAccessException | IllegalStateException | SecurityException e) {
      onProblem("The camera cannot be opened: " + e.getMessage());
    }
  }

  private void stop() {
    final CameraSource ended = camera;
    camera = null;
    if (ended == null) return;
    ended.close();
    vision.close(new Runnable() {
      @Override
      public void run() {
        ended.release();
      }
    });
    vision = null;
  }

  // ---- frames, in the camera's thread

  @Override
  public void onImage(Image image) {
    CameraSource from = camera;
    Vision to = vision;
    if (from == null || to == null) {
      image.close();
      return;
    }
    try {
      to.look(image, Frame.rotation(from.sensorOrientation, 0, from.front), from.front);
    } catch (IllegalStateException e) {
      image.close(); // it was closed just now
    }
  }

  @Override
  public void onLost(final String why) {
    runOnUiThread(new Runnable() {
      @Override
      public void run() {
        onProblem(why);
        stop();
      }
    });
  }

  // ---- answers, in the main thread

  @Override
  public void onReady(String where, String verdict) {
    ready = where + "\ncertificate: " + verdict;
    status.setText(ready);
  }

  @Override
  public void onOverlay(Overlay found, double milliseconds) {
    overlay.show(found);
    status.setText(String.format("%.1f ms on %s", milliseconds, ready));
  }

  @Override
  public void onProblem(String sentence) {
    status.setText(sentence);
  }

  // ---- the preview's texture

  @Override
  public void onSurfaceTextureAvailable(SurfaceTexture texture, int width, int height) {
    begin();
  }

  @Override
  public void onSurfaceTextureSizeChanged(SurfaceTexture texture, int width, int height) {}

  @Override
  public boolean onSurfaceTextureDestroyed(SurfaceTexture texture) {
    stop();
    return true;
  }

  @Override
  public void onSurfaceTextureUpdated(SurfaceTexture texture) {}
}
