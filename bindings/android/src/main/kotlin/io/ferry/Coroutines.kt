// SPDX-License-Identifier: Apache-2.0
package io.ferry

import java.util.concurrent.Callable
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.coroutines.suspendCoroutine

/**
 * Does the work in the worker's thread, and goes on with its result; what it throws is thrown here.
 *
 *     val answer = worker.await { task.run(Request.of(frame)) }
 */
suspend fun <T> Worker.await(work: () -> T): T = suspendCoroutine { continuation ->
    submit(Callable { work() }, object : Listener<T> {
        override fun onResult(result: T) = continuation.resume(result)

        override fun onFailure(failure: Exception) = continuation.resumeWithException(failure)
    })
}

/** `frame(Frame.Format.NV21, 640, 480) { plane(luma, 640, 1); plane(chroma, 640, 2); rotation(90) }` */
inline fun frame(format: Frame.Format, width: Int, height: Int, describe: Frame.Builder.() -> Unit): Frame =
    Frame.Builder(format, width, height).apply(describe).build()

/** What the model says, until it ends or has said so many tokens: `story.pieces(100).forEach(::show)`. */
fun Generator.pieces(maxTokens: Int): Sequence<String> = sequence {
    for (count in 1..maxTokens) {
        val token = next()
        yield(token.text())
        if (token.ended()) break
    }
}

/** Options by name: `model.task(options { backend(SessionOptions.Backend.GPU) })`. */
inline fun options(choose: SessionOptions.() -> Unit): SessionOptions = SessionOptions().apply(choose)
