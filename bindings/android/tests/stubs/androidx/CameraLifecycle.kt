// SPDX-License-Identifier: Apache-2.0
// In place of androidx.camera:camera-lifecycle, for tests without Maven: compiled against only.
package androidx.camera.lifecycle

import android.content.Context
import androidx.camera.core.CameraSelector
import androidx.camera.core.UseCaseGroup
import androidx.lifecycle.LifecycleOwner

class ProcessCameraProvider {
    fun unbindAll() {}

    fun bindToLifecycle(owner: LifecycleOwner, selector: CameraSelector, group: UseCaseGroup): Any =
        TODO("$owner $selector $group")

    companion object
}

suspend fun ProcessCameraProvider.Companion.awaitInstance(context: Context): ProcessCameraProvider = TODO("$context")
