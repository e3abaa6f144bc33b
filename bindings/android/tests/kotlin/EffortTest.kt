// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

import io.ferry.camera.Effort.FULL
import io.ferry.camera.Effort.LOW
import io.ferry.camera.Effort.PAUSED

/** The camera example's answer to heat. */
object EffortTest {
    private fun expect(expected: Effort, before: Effort, headroom: Float, status: Int) {
        val found = Effort.of(before, headroom, status)
        check(found == expected) { "$before, headroom $headroom, status $status: $found instead of $expected" }
    }

    @JvmStatic
    fun headroomLowersEffortBeforeTheDeviceThrottles() {
        expect(FULL, FULL, 0.5f, 0)
        expect(FULL, FULL, 0.89f, 0)
        expect(LOW, FULL, 0.9f, 0)
        expect(LOW, FULL, 2f, 1)
    }

    @JvmStatic
    fun effortReturnsOnlyWhenTheDeviceIsCool() {
        expect(LOW, LOW, 0.8f, 0)
        expect(FULL, LOW, 0.74f, 0)
        expect(LOW, PAUSED, 0.8f, 1)
        expect(FULL, PAUSED, 0.5f, 0)
    }

    @JvmStatic
    fun severeThrottlingPauses() {
        for (status in 3..6) for (before in Effort.values()) expect(PAUSED, before, 0f, status)
        expect(LOW, PAUSED, Float.NaN, 2)
    }

    @JvmStatic
    fun withoutSensorsTheStatusDecides() {
        for (before in Effort.values()) expect(FULL, before, Float.NaN, 0)
        expect(LOW, FULL, Float.NaN, 2)
    }

    @JvmStatic
    fun lowEffortHasFewerThreadsAndFrames() {
        check(FULL.threads(8) == 0 && LOW.threads(8) == 4 && LOW.threads(1) == 1)
        check(FULL.millisBetweenFrames == 0L && LOW.millisBetweenFrames > 0)
    }
}
