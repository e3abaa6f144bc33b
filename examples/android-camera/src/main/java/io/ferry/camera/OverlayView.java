// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.graphics.RectF;
import android.view.View;
import io.ferry.Answer;
import java.nio.FloatBuffer;

/** Draws an Overlay over the preview; both have the same bounds. */
public final class OverlayView extends View {
  private final Paint lines = new Paint(Paint.ANTI_ALIAS_FLAG);
  private final Paint words = new Paint(Paint.ANTI_ALIAS_FLAG);
  private final Paint images = new Paint(Paint.FILTER_BITMAP_FLAG);
  private final RectF place = new RectF();
  private Overlay overlay;

  OverlayView(Context context) {
    super(context);
    float density = context.getResources().getDisplayMetrics().density;
    lines.setStyle(Paint.Style.STROKE);
    lines.setStrokeWidth(2 * density);
    lines.setColor(Color.YELLOW);
    words.setTextSize(16 * density);
    words.setColor(Color.YELLOW);
    words.setShadowLayer(2 * density, 0, 0, Color.BLACK);
  }

  void show(Overlay value) {
    overlay = value;
    invalidate();
  }

  @Override
  protected void onDraw(Canvas canvas) {
    if (overlay == null) return;
    float across = (float) getWidth() / overlay.width;
    float down = (float) getHeight() / overlay.height;
    if (overlay.bitmap != null) {
      place.set(0, 0, getWidth(), getHeight());
      canvas.drawBitmap(overlay.bitmap, null, place, images);
    }
    for (Answer.Detection box : overlay.boxes) {
      place.set(across * box.left(), down * box.top(), across * box.right(), down * box.bottom());
      canvas.drawRect(place, lines);
      drawSkeleton(canvas, box, across, down);
      String text = String.format("%.2f %s", box.score(), Overlay.name(box.label(), box.index()));
      canvas.drawText(text, place.left, Math.max(place.top, words.getTextSize()), words);
    }
    float size = words.getTextSize();
    for (int i = 0; i < overlay.texts.size(); ++i) {
      canvas.drawText(overlay.texts.get(i), size, 1.3f * size * (i + 1), words);
    }
  }

  /** Lines between landmarks that are visible, as far as the network says so. */
  private void drawSkeleton(Canvas canvas, Answer.Detection box, float across, float down) {
    FloatBuffer places = box.landmarks();
    FloatBuffer scores = box.landmarkScores();
    for (int i = 0; overlay.skeleton != null && i + 1 < overlay.skeleton.limit(); i += 2) {
      int from = overlay.skeleton.get(i);
      int to = overlay.skeleton.get(i + 1);
      if (scores.limit() > 0 && Math.min(scores.get(from), scores.get(to)) < 0.5f) continue;
      canvas.drawLine(across * places.get(2 * from), down * places.get(2 * from + 1), across * places.get(2 * to),
          down * places.get(2 * to + 1), lines);
    }
  }
}
