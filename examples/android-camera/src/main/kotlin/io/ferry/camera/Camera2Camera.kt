// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

import android.app.Activity
import android.graphics.Matrix
import android.graphics.SurfaceTexture
import android.hardware.camera2.CameraAccessException
import android.media.Image
import android.view.TextureView
import android.widget.FrameLayout
import io.ferry.Frame
import io.ferry.android.Frames

/** Camera2, for apps without AndroidX. */
class Camera2Camera(private val activity: Activity, private val vision: Vision) :
    Camera, CameraSource.Listener, TextureView.SurfaceTextureListener {
    private val texture = TextureView(activity)
    private val frame = object : FrameLayout(activity) {
        /** As large as possible with the upright image's aspect ratio. */
        override fun onMeasure(widthSpec: Int, heightSpec: Int) {
            var width = MeasureSpec.getSize(widthSpec)
            var height = MeasureSpec.getSize(heightSpec)
            if (width * high > height * wide) width = height * wide / high else height = width * high / wide
            super.onMeasure(MeasureSpec.makeMeasureSpec(width, MeasureSpec.EXACTLY),
                MeasureSpec.makeMeasureSpec(height, MeasureSpec.EXACTLY))
        }
    }
    override val view: FrameLayout get() = frame

    private var wide = 3
    private var high = 4
    private var front = false
    private var wanted = false
    private var source: CameraSource? = null
    @Volatile private var degrees = 0

    init {
        texture.surfaceTextureListener = this
        frame.addView(texture)
    }

    override fun start(front: Boolean) {
        stop()
        this.front = front
        wanted = true
        open()
    }

    @Suppress("DEPRECATION") // the later one is of API 30
    private fun open() {
        if (!wanted || source != null || !texture.isAvailable) return
        try {
            val opened = CameraSource(activity, front, this)
            degrees = 90 * activity.windowManager.defaultDisplay.rotation
            val turned = Frame.rotation(opened.sensorOrientation, degrees, opened.front) % 180 != 0
            wide = if (turned) opened.size.height else opened.size.width
            high = if (turned) opened.size.width else opened.size.height
            frame.requestLayout()
            turn(texture.width, texture.height) // again when the layout changes the size
            source = opened
            opened.start(texture.surfaceTexture)
        } catch (e: CameraAccessException) {
            vision.problem("The camera cannot be opened: ${e.message}")
        } catch (e: IllegalStateException) {
            vision.problem("The camera cannot be opened: ${e.message}")
        } catch (e: SecurityException) {
            vision.problem("The camera cannot be opened: ${e.message}")
        }
    }

    /**
     * A TextureView shows a camera as in the display's natural orientation, stretched over its bounds. Turned by the
     * display's rotation, the content is as wide as the view is high, so it is scaled back to the bounds.
     */
    private fun turn(width: Int, height: Int) {
        val matrix = Matrix()
        matrix.postRotate(-degrees.toFloat(), width / 2f, height / 2f)
        if (degrees % 180 != 0) {
            matrix.postScale(width.toFloat() / height, height.toFloat() / width, width / 2f, height / 2f)
        }
        texture.setTransform(matrix)
    }

    override fun stop() {
        wanted = false
        source?.close()
        source = null
    }

    // ---- in the camera's thread

    override fun onImage(from: CameraSource, image: Image) {
        val rotation = Frame.rotation(from.sensorOrientation, degrees, from.front)
        vision.look({ from.done(image) }) { Frames.of(image, rotation, from.front) }
    }

    override fun onLost(why: String) {
        activity.runOnUiThread {
            vision.problem(why)
            stop()
        }
    }

    // ---- the preview's texture

    override fun onSurfaceTextureAvailable(surface: SurfaceTexture, width: Int, height: Int) = open()

    override fun onSurfaceTextureSizeChanged(surface: SurfaceTexture, width: Int, height: Int) = turn(width, height)

    override fun onSurfaceTextureDestroyed(surface: SurfaceTexture): Boolean {
        stop()
        return true
    }

    override fun onSurfaceTextureUpdated(surface: SurfaceTexture) {}
}
