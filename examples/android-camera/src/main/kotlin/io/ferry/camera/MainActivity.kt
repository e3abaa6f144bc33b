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

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        front = savedInstanceState?.getBoolean(FRONT) ?: true
        asked = savedInstanceState?.getBoolean(ASKED) ?: false
        window.addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON)
        stage = FrameLayout(this)
        overlay = OverlayView(this)
        val status = TextView(this)
        settings = button("Settings") {
            val app = Uri.fromParts("package", packageName, null)
            startActivity(Intent(Settings.ACTION_APPLICATION_DETAILS_SETTINGS, app))
        }
        settings.visibility = View.GONE
        val controls = LinearLayout(this)
        controls.orientation = LinearLayout.VERTICAL
        controls.addView(status)
        controls.addView(settings)
        controls.addView(choice("GPU", vision.backend == Backend.GPU) {
            vision.prepare(if (it) Backend.GPU else Backend.CPU)
        })
        val camera2 = savedInstanceState?.getBoolean(CAMERA2) ?: false
        controls.addView(choice("Camera2 in place of CameraX", camera2) { use(camera2 = it) })
        controls.addView(button("Other camera") {
            front = !front
            begin()
        })
        show(controls)
        use(camera2)
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
        if (wide) {
            all.addView(stage, LinearLayout.LayoutParams(0, MATCH_PARENT, 2f))
            all.addView(controls, LinearLayout.LayoutParams(0, WRAP_CONTENT, 1f))
        } else {
            all.addView(stage, LinearLayout.LayoutParams(MATCH_PARENT, 0, 1f))
            all.addView(controls, LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT))
        }
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

    override fun onSaveInstanceState(outState: Bundle) {
        super.onSaveInstanceState(outState)
        outState.putBoolean(FRONT, front)
        outState.putBoolean(ASKED, asked)
        outState.putBoolean(CAMERA2, camera is Camera2Camera)
    }

    private companion object {
        const val FRONT = "front"
        const val ASKED = "asked"
        const val CAMERA2 = "camera2"
    }
}
