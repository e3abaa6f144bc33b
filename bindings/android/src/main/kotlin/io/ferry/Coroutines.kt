// SPDX-License-Identifier: Apache-2.0
package io.ferry

import java.util.concurrent.Callable
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.coroutines.suspendCoroutine

/**
 * Runs `work` in the worker's thread and returns its result; its exceptions are thrown here.
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

/** The generated text in pieces, up to an end token or `maxTokens` tokens: `story.pieces(100).forEach(::show)`. */
fun Generator.pieces(maxTokens: Int): Sequence<String> = sequence {
    for (count in 1..maxTokens) {
        val token = next()
        yield(token.text())
        if (token.ended()) break
    }
}

/** Options by name: `model.task(options { backend(SessionOptions.Backend.GPU) })`. */
inline fun options(choose: SessionOptions.() -> Unit): SessionOptions = SessionOptions().apply(choose)
