// SPDX-License-Identifier: Apache-2.0
// In place of androidx.camera:camera-view, for tests without Maven: compiled against only.
package androidx.camera.view

import android.content.Context
import android.widget.FrameLayout
import androidx.camera.core.Preview
import androidx.camera.core.ViewPort

class PreviewView(context: Context) : FrameLayout(context) {
    enum class ImplementationMode { PERFORMANCE, COMPATIBLE }

    var implementationMode = ImplementationMode.PERFORMANCE
    val surfaceProvider: Preview.SurfaceProvider get() = TODO()
    val viewPort: ViewPort? get() = null
}
