// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

import androidx.test.ext.junit.runners.AndroidJUnit4
import androidx.test.platform.app.InstrumentationRegistry
import io.ferry.Answer
import io.ferry.FerryException
import io.ferry.Image
import io.ferry.Model
import io.ferry.Request
import io.ferry.SessionOptions
import io.ferry.SessionOptions.Backend
import io.ferry.android.Assets
import io.ferry.options
import java.nio.ByteBuffer
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Test
import org.junit.runner.RunWith

/** On a device: the app's model passes its certificate and finds the face in a photograph, on CPU and GPU. */
@RunWith(AndroidJUnit4::class)
class FacesTest {
    private val instrumentation = InstrumentationRegistry.getInstrumentation()

    private fun model(): Model = Assets.open(instrumentation.targetContext.assets, "model.ferry")

    private fun astronaut(): Image {
        val file = instrumentation.context.assets.open("astronaut.jpg").use { it.readBytes() }
        val direct = ByteBuffer.allocateDirect(file.size)
        direct.put(file).rewind()
        return Image.decode(direct)
    }

    private fun on(backend: Backend): SessionOptions = options { backend(backend).gpuRequired(backend == Backend.GPU) }

    /** Skips a test on a device without a usable GPU; its other faults fail the test. */
    private fun <T> needsGpu(work: () -> T): T = try {
        work()
    } catch (e: FerryException) {
        assumeTrue("no usable GPU: ${e.message}", e.status() != FerryException.Status.GPU_UNAVAILABLE)
        throw e
    }

    private fun isVerified(backend: Backend) {
        model().use { model ->
            val v = model.verify(on(backend))
            assertTrue("${v.stage()}: error ${v.error()}, bound ${v.bound()}", v.passed())
            assertEquals(2, v.stageCount())
        }
    }

    private fun findsTheFace(backend: Backend) {
        model().use { model ->
            model.task(on(backend)).use { task ->
                val boxes = (task.run(Request.of(astronaut())) as Answer.Boxes).boxes()
                assertEquals(1, boxes.size)
                val face = boxes[0]
                for ((found, expected) in listOf(face.left() to 141f, face.top() to 50f, face.right() to 213f,
                    face.bottom() to 140f)) {
                    assertEquals(expected, found, 3f)
                }
            }
        }
    }

    @Test
    fun theCertificateHoldsOnTheCpu() = isVerified(Backend.CPU)

    @Test
    fun theCertificateHoldsOnTheGpu() = needsGpu { isVerified(Backend.GPU) }

    @Test
    fun theFaceIsFoundOnTheCpu() = findsTheFace(Backend.CPU)

    @Test
    fun theFaceIsFoundOnTheGpu() = needsGpu { findsTheFace(Backend.GPU) }
}
