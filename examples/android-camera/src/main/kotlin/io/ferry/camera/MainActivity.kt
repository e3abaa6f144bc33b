// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

import android.Manifest
import android.content.Intent
import android.content.pm.PackageManager
import android.content.res.Configuration
import android.net.Uri
import android.os.Bundle
import android.provider.Settings
import android.view.Gravity
import android.view.View
import android.view.ViewGroup
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.view.WindowManager
import android.widget.Button
import android.widget.CompoundButton
import android.widget.FrameLayout
import android.widget.LinearLayout
import android.widget.Switch
import android.widget.TextView
import androidx.activity.ComponentActivity
import androidx.activity.result.contract.ActivityResultContracts
import androidx.activity.viewModels
import androidx.lifecycle.Lifecycle
import androidx.lifecycle.lifecycleScope
import androidx.lifecycle.repeatOnLifecycle
import io.ferry.SessionOptions.Backend
import kotlinx.coroutines.launch

/** The camera with the model's answers; beside it the backend, the time of a frame and the certificate's verdict. */
class MainActivity : ComponentActivity() {
    private val vision: Vision by viewModels()
    private val permission = registerForActivityResult(ActivityResultContracts.RequestPermission()) { begin() }

    private lateinit var stage: FrameLayout
    private lateinit var overlay: OverlayView
    private lateinit var settings: View
    private lateinit var camera: Camera
    private var front = true // faces are there
    private var asked = false
    private var started = false

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        front = state?.getBoolean(FRONT) ?: true
        asked = state?.getBoolean(ASKED) ?: false
        window.addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON)
        stage = FrameLayout(this)
        overlay = OverlayView(this)
        val status = TextView(this)
        settings = button("Settings") {
            startActivity(Intent(Settings.ACTION_APPLICATION_DETAILS_SETTINGS, Uri.fromParts("package", packageName, null)))
        }
        settings.visibility = View.GONE
        val controls = LinearLayout(this)
        controls.orientation = LinearLayout.VERTICAL
        controls.addView(status)
        controls.addView(settings)
        controls.addView(choice("GPU", vision.backend == Backend.GPU) { vision.prepare(if (it) Backend.GPU else Backend.CPU) })
        controls.addView(choice("Camera2 in place of CameraX", state?.getBoolean(CAMERA2) ?: false) { use(camera2 = it) })
        controls.addView(button("Other camera") {
            front = !front
            begin()
        })
        show(controls)
        use(camera2 = state?.getBoolean(CAMERA2) ?: false)
        lifecycleScope.launch {
            repeatOnLifecycle(Lifecycle.State.STARTED) {
                vision.screen.collect {
                    status.text = it.status
                    overlay.show(it.overlay)
                }
            }
        }
    }

    /** The controls are below the stage, or beside it on wide screens; neither lies under the system's bars. */
    private fun show(controls: View) {
        val wide = resources.configuration.orientation == Configuration.ORIENTATION_LANDSCAPE
        val all = LinearLayout(this)
        all.orientation = if (wide) LinearLayout.HORIZONTAL else LinearLayout.VERTICAL
        all.fitsSystemWindows = true
        all.addView(stage, LinearLayout.LayoutParams(if (wide) 0 else MATCH_PARENT, if (wide) MATCH_PARENT else 0, 2f))
        all.addView(controls, LinearLayout.LayoutParams(if (wide) 0 else MATCH_PARENT, WRAP_CONTENT, if (wide) 1f else 0f))
        setContentView(all)
    }

    private fun button(text: String, work: () -> Unit) = Button(this).apply {
        this.text = text
        setOnClickListener { work() }
    }

    private fun choice(text: String, chosen: Boolean, work: (Boolean) -> Unit): CompoundButton = Switch(this).apply {
        this.text = text
        isChecked = chosen
        setOnCheckedChangeListener { _, checked -> work(checked) }
    }

    private fun use(camera2: Boolean) {
        if (::camera.isInitialized) camera.stop()
        camera = if (camera2) Camera2Camera(this, vision) else CameraXCamera(this, vision)
        (overlay.parent as? ViewGroup)?.removeView(overlay)
        camera.view.addView(overlay)
        stage.removeAllViews()
        stage.addView(camera.view, FrameLayout.LayoutParams(MATCH_PARENT, MATCH_PARENT, Gravity.CENTER))
        if (started) begin()
    }

    override fun onStart() {
        super.onStart()
        started = true
        begin()
    }

    /** Also after the answer to the permission's question, and after a visit to the settings. */
    private fun begin() {
        val granted = checkSelfPermission(Manifest.permission.CAMERA) == PackageManager.PERMISSION_GRANTED
        settings.visibility = if (granted) View.GONE else View.VISIBLE
        when {
            granted -> {
                vision.start()
                whenLaidOut(camera.view) { if (started) camera.start(front) }
            }
            asked -> vision.problem("Without the camera there is nothing to see. Its permission is in the settings.")
            else -> {
                asked = true
                permission.launch(Manifest.permission.CAMERA)
            }
        }
    }

    /** CameraX needs the preview's size. */
    private fun whenLaidOut(view: View, work: () -> Unit) {
        if (view.isLaidOut && !view.isLayoutRequested) return work()
        view.addOnLayoutChangeListener(object : View.OnLayoutChangeListener {
            override fun onLayoutChange(v: View, l: Int, t: Int, r: Int, b: Int, ol: Int, ot: Int, or: Int, ob: Int) {
                view.removeOnLayoutChangeListener(this)
                work()
            }
        })
    }

    override fun onStop() {
        started = false
        camera.stop()
        vision.stop()
        super.onStop()
    }

    override fun onTrimMemory(level: Int) {
        super.onTrimMemory(level)
        if (level >= TRIM_MEMORY_BACKGROUND) vision.release()
    }

    override fun onSaveInstanceState(state: Bundle) {
        super.onSaveInstanceState(state)
        state.putBoolean(FRONT, front)
        state.putBoolean(ASKED, asked)
        state.putBoolean(CAMERA2, camera is Camera2Camera)
    }

    private companion object {
        const val FRONT = "front"
        const val ASKED = "asked"
        const val CAMERA2 = "camera2"
    }
}
