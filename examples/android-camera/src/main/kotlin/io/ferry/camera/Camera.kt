// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

import android.widget.FrameLayout

/** A camera with its preview, whose frames go to Vision: CameraX, or Camera2 where an app has no AndroidX. */
interface Camera {
    /** Holds the preview, which fills it; the activity adds the view that draws answers over it. */
    val view: FrameLayout

    /** Requires the permission. May be called again, for the other side. */
    fun start(front: Boolean)

    fun stop()
}
