// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

/** How much the model computes, so that the device neither throttles all apps nor ends this one. */
enum class Effort(val description: String) {
    /** All big cores, every frame that the model keeps up with. */
    FULL(""),

    /** Half of the threads, on cores that stay cool, and at most five frames a second. */
    LOW("warm: fewer threads"),

    /** No frames. */
    PAUSED("too hot: paused");

    fun threads(cores: Int): Int = if (this == FULL) 0 else maxOf(1, cores / 2) // 0: the library's choice

    val millisBetweenFrames: Long get() = if (this == LOW) 200 else 0

    companion object {
        /** Below it, a device that was warm counts as cool again; the gap to [WARM] prevents changes to and fro. */
        private const val COOL = 0.75f
        private const val WARM = 0.9f
        private const val SEVERE = 3 // PowerManager.THERMAL_STATUS_SEVERE

        /**
         * @param headroom PowerManager.getThermalHeadroom(): 1 is where severe throttling begins; NaN if unknown
         * @param status PowerManager.getCurrentThermalStatus(), 0 if unknown
         */
        fun of(before: Effort, headroom: Float, status: Int): Effort = when {
            status >= SEVERE -> PAUSED
            headroom >= WARM || status == SEVERE - 1 -> LOW
            before != FULL && headroom >= COOL -> LOW
            else -> FULL // also if nothing is known
        }
    }
}
