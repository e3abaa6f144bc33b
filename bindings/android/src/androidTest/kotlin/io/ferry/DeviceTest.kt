// SPDX-License-Identifier: Apache-2.0
package io.ferry

import androidx.test.ext.junit.runners.AndroidJUnit4
import androidx.test.platform.app.InstrumentationRegistry
import io.ferry.SessionOptions.Backend
import io.ferry.android.Assets
import io.ferry.android.Models
import java.nio.ByteBuffer
import kotlin.math.abs
import kotlin.math.max
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith

/** On a device: golden blobs, in place inside the test's APK, give the numbers that are beside them. */
@RunWith(AndroidJUnit4::class)
class DeviceTest {
    private val instrumentation = InstrumentationRegistry.getInstrumentation()
    private val assets = instrumentation.context.assets

    private fun open(name: String): Model = Assets.open(assets, "$name.ferry")

    /** "logits -0.16 0.60": the numbers of an output in the text beside a blob. */
    private fun golden(name: String): FloatArray {
        val line = assets.open("$name.txt").bufferedReader().use { it.readLine() }
        return line.split(" ").drop(1).map { it.toFloat() }.toFloatArray()
    }

    /** The input of the golden results: noise() of tests/support/blobs.cc. */
    private fun noise(input: TensorInfo): ByteBuffer {
        val out = input.allocate()
        for (i in 0 until out.capacity() / 4) {
            var x = i * 0x85EBCA6B.toInt() + 0xC2B2AE35.toInt()
            x = (x xor (x ushr 15)) * 0x2C1B3C6D
            x = (x xor (x ushr 12)) * 0x297A2D39
            out.putFloat(4 * i, ((x xor (x ushr 15)) ushr 22) / 1024f - 0.5f)
        }
        return out
    }

    private fun resultsAgree(name: String, options: SessionOptions) {
        open(name).use { model ->
            model.session(options).use { session ->
                session.setInput(0, noise(session.inputs()[0]))
                session.run()
                val found = session.output(0).asFloatBuffer()
                val expected = golden(name)
                assertEquals(name, expected.size, found.remaining())
                val bound = 1e-4f * expected.fold(0f) { most, value -> max(most, abs(value)) }
                for (i in expected.indices) assertEquals("$name[$i]", expected[i], found.get(i), bound)
            }
        }
    }

    @Test
    fun theLibraryIsThisVersion() = assertTrue(Ferry.version().matches(Regex("""\d+\.\d+\.\d+""")))

    @Test
    fun resultsOfTheCpuAreTheGoldenOnes() {
        for (threads in intArrayOf(1, 0)) resultsAgree("v1_small_classifier", options { threads(threads) })
    }

    @Test
    fun resultsOfTheGpuAreTheGoldenOnes() = resultsAgree("v1_small_classifier", options { backend(Backend.GPU) })

    @Test
    fun whatIsPackedInTheCacheIsReadAgain() {
        val folder = instrumentation.targetContext.cacheDir.path
        repeat(2) { resultsAgree("v1_small_classifier", options { cacheDir(folder).gpuCacheDir(folder) }) }
    }

    @Test
    fun blobsAreInstalledIntoTheAppsStorage() {
        val context = instrumentation.targetContext
        val store = Models.store(context)
        try {
            store.install("m.ferry", assets.open("v2_small_recurrent.ferry"), -1, null)
            Models.open(context, "m.ferry").use { it.check() }
        } finally {
            store.delete("m.ferry")
        }
    }
}
