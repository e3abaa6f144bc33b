// SPDX-License-Identifier: Apache-2.0
// In place of androidx.camera, for tests without Maven: compiled against only.
package androidx.camera.core

import android.view.View
import java.util.concurrent.Executor

class CameraSelector {
    companion object {
        @JvmField val DEFAULT_FRONT_CAMERA = CameraSelector()
        @JvmField val DEFAULT_BACK_CAMERA = CameraSelector()
    }
}

abstract class UseCase

class Preview : UseCase() {
    interface SurfaceProvider

    fun setSurfaceProvider(provider: SurfaceProvider?): Unit = TODO("$provider")

    class Builder {
        fun build() = Preview()
    }
}

class ImageAnalysis : UseCase() {
    fun interface Analyzer {
        fun analyze(image: ImageProxy)
    }

    fun setAnalyzer(executor: Executor, analyzer: Analyzer): Unit = TODO("$executor $analyzer")

    class Builder {
        fun setTargetRotation(rotation: Int): Builder = TODO("$rotation")

        fun build() = ImageAnalysis()
    }
}

class ViewPort

class UseCaseGroup {
    class Builder {
        fun setViewPort(port: ViewPort): Builder = TODO("$port")

        fun addUseCase(case: UseCase): Builder = TODO("$case")

        fun build() = UseCaseGroup()
    }
}
