// SPDX-License-Identifier: Apache-2.0
package io.ferry

import java.io.Closeable
import java.util.concurrent.Callable
import kotlin.coroutines.resume
import kotlin.coroutines.suspendCoroutine
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.flow.conflate
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/** A run that had not begun when it was cancelled must be cancelled again. */
private const val CANCEL_AGAIN_MS = 2L

/**
 * Runs [work] in the worker's thread and returns its result; its exceptions are thrown here.
 *
 *     val model = worker.await { Assets.open(assets, "model.ferry") }
 *
 * It returns or throws only when [work] has ended or will not begin, so memory that [work] reads may be freed
 * afterwards. If the coroutine is cancelled, work that has not begun is skipped, and [cancel] is called, in any thread,
 * until work that runs has ended; it may throw IllegalStateException, as objects do that are closed. A result that
 * nobody receives then is closed if it is [Closeable].
 */
suspend fun <T> Worker.await(cancel: () -> Unit = {}, work: () -> T): T = coroutineScope {
    val lock = Any()
    var running = false
    val canceller = launch(Dispatchers.Unconfined, CoroutineStart.UNDISPATCHED) {
        try {
            awaitCancellation()
        } finally {
            withContext(NonCancellable) {
                // The worker cannot go to its next job between the question and the call.
                while (synchronized(lock) { running.also { if (it) unlessClosed(cancel) } }) delay(CANCEL_AGAIN_MS)
            }
        }
    }
    val outcome = suspendCoroutine<Result<T>> { continuation ->
        val job = Callable {
            synchronized(lock) {
                ensureActive()
                running = true
            }
            try {
                work()
            } finally {
                synchronized(lock) { running = false }
            }
        }
        submit(job, object : Listener<T> {
            override fun onResult(result: T) = continuation.resume(Result.success(result))

            override fun onFailure(failure: Exception) = continuation.resume(Result.failure(failure))
        })
    }
    try {
        ensureActive()
    } catch (e: CancellationException) {
        (outcome.getOrNull() as? Closeable)?.close()
        throw e
    }
    canceller.cancel()
    outcome.getOrThrow()
}

/** What is being closed cancels its run itself. */
private inline fun unlessClosed(cancel: () -> Unit) {
    try {
        cancel()
    } catch (_: IllegalStateException) {
    }
}

/** Runs the task in the worker's thread; cancelling the coroutine ends the run within one operator. */
suspend fun Task.runOn(worker: Worker, request: Request): Answer = worker.await(::cancel) { run(request) }

/** Runs the session in the worker's thread; cancelling the coroutine ends the run within one operator. */
suspend fun Session.runOn(worker: Worker): Unit = worker.await(::cancel) { run() }

/** A long run: its progress, then its answer. */
sealed class Step {
    /** [done] of [total] parts of the work have ended: tiles, holes or lines. */
    data class Working(val done: Int, val total: Int) : Step()

    data class Done(val answer: Answer) : Step()
}

/**
 * Runs the task when the flow is collected. A slow collector misses progress, never the answer. Cancelling the
 * collection ends the run. Replaces the request's own [Request.progress].
 *
 *     task.steps(worker, Request.of(image)).collect { step ->
 *         when (step) {
 *             is Step.Working -> bar.progress = 100 * step.done / step.total
 *             is Step.Done -> show(step.answer)
 *         }
 *     }
 */
fun Task.steps(worker: Worker, request: Request): Flow<Step> = channelFlow {
    val watched = request.progress { done, total -> trySend(Step.Working(done, total)) }
    send(Step.Done(runOn(worker, watched)))
}.conflate()

/**
 * Generates tokens in the worker's thread while the flow is collected, up to an end token or [maxTokens] tokens.
 * Nothing is generated ahead of the collector. Cancelling the collection ends the run; collecting again continues the
 * text.
 *
 *     generator.tokens(worker, 200).collect { token -> view.append(token.text()) }
 */
fun Generator.tokens(worker: Worker, maxTokens: Int): Flow<Generator.Token> = flow {
    for (count in 1..maxTokens) {
        val token = worker.await(this@tokens::cancel) { next() }
        emit(token)
        if (token.ended()) break
    }
}

/** The generated text in pieces, in this thread: `story.pieces(100).forEach(::show)`. See [tokens] for coroutines. */
fun Generator.pieces(maxTokens: Int): Sequence<String> = sequence {
    for (count in 1..maxTokens) {
        val token = next()
        yield(token.text())
        if (token.ended()) break
    }
}

/** `frame(Frame.Format.NV21, 640, 480) { plane(luma, 640, 1); plane(chroma, 640, 2); rotation(90) }` */
inline fun frame(format: Frame.Format, width: Int, height: Int, describe: Frame.Builder.() -> Unit): Frame =
    Frame.Builder(format, width, height).apply(describe).build()

/** Options by name: `model.task(options { backend(SessionOptions.Backend.GPU) })`. */
inline fun options(choose: SessionOptions.() -> Unit): SessionOptions = SessionOptions().apply(choose)
