// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

import android.view.Surface
import android.widget.FrameLayout
import androidx.activity.ComponentActivity
import androidx.camera.core.CameraSelector
import androidx.camera.core.ImageAnalysis
import androidx.camera.core.Preview
import androidx.camera.core.UseCaseGroup
import androidx.camera.lifecycle.ProcessCameraProvider
import androidx.camera.lifecycle.awaitInstance
import androidx.camera.view.PreviewView
import androidx.lifecycle.lifecycleScope
import io.ferry.android.CameraXFrames
import java.util.concurrent.Executors
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch

/** CameraX, which follows the activity's lifecycle and the display's rotation. */
class CameraXCamera(private val activity: ComponentActivity, private val vision: Vision) : Camera {
    private val previewView = PreviewView(activity).apply {
        implementationMode = PreviewView.ImplementationMode.COMPATIBLE // a TextureView, over which others may draw
    }
    override val view = FrameLayout(activity).apply { addView(previewView) }

    private var provider: ProcessCameraProvider? = null
    private var starting: Job? = null

    override fun start(front: Boolean) {
        starting?.cancel()
        starting = activity.lifecycleScope.launch {
            try {
                bind(ProcessCameraProvider.awaitInstance(activity).also { provider = it }, front)
            } catch (e: CancellationException) {
                throw e
            } catch (e: Exception) { // no camera faces that way, or CameraX finds none at all
                vision.problem("The camera cannot be opened: ${e.message}")
            }
        }
    }

    private fun bind(provider: ProcessCameraProvider, front: Boolean) {
        val preview = Preview.Builder().build()
        preview.setSurfaceProvider(previewView.surfaceProvider)
        val rotation = previewView.display?.rotation ?: Surface.ROTATION_0
        val analysis = ImageAnalysis.Builder().setTargetRotation(rotation).build() // 640x480; the newest image
        analysis.setAnalyzer(thread) { image -> vision.look(image) { CameraXFrames.of(image, front) } }
        val both = UseCaseGroup.Builder().addUseCase(preview).addUseCase(analysis)
        // Crops the frames to what the preview shows, so that answers fit the whole view.
        previewView.viewPort?.let { both.setViewPort(it) }
        provider.unbindAll()
        val side = if (front) CameraSelector.DEFAULT_FRONT_CAMERA else CameraSelector.DEFAULT_BACK_CAMERA
        provider.bindToLifecycle(activity, side, both.build())
    }

    override fun stop() {
        starting?.cancel()
        provider?.unbindAll()
    }

    private companion object {
        val thread = Executors.newSingleThreadExecutor() // images; one for all activities that come and go
    }
}
