// SPDX-License-Identifier: Apache-2.0
package io.ferry

import java.nio.ByteBuffer
import java.util.concurrent.LinkedBlockingQueue
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine

/** Kotlin's additions: coroutines resume with a worker's result or exception. */
object CoroutinesTest {
    /** Waits for the coroutine's result, or throws its exception. */
    private fun <T> outcome(block: suspend () -> T): T {
        val ended = LinkedBlockingQueue<() -> T>()  // the coroutine may end in this thread
        block.startCoroutine(object : Continuation<T> {
            override val context = EmptyCoroutineContext

            override fun resumeWith(result: Result<T>) = ended.put { result.getOrThrow() }
        })
        return ended.take()()
    }

    @JvmStatic
    fun aTaskIsPreparedAndRunInTheWorkersThread() {
        val gray = frame(Frame.Format.GRAY, 8, 8) {
            plane(ByteBuffer.allocateDirect(64), 8, 1)
            rotation(90)
        }
        Worker("coroutines").use { worker ->
            val answer = outcome {
                val model = worker.await { Model.open(Tests.golden("v1_small_classifier")) }
                val task = worker.await { model.use { it.task(options { threads(1) }) } }
                Tests.equal("coroutines", Thread.currentThread().name)
                worker.await { task.use { it.run(Request.of(gray).top(2)) } }
            }
            when (answer) {
                is Answer.Classes -> Tests.equal(2, answer.classes().size)
                else -> throw AssertionError("$answer")
            }
        }
    }

    @JvmStatic
    fun failuresAreThrownWhereTheResultIsAwaited() {
        Worker("coroutines").use { worker ->
            Tests.refused(FerryException.Status.IO_ERROR, "absent.ferry") {
                outcome { worker.await { Model.open("absent.ferry") } }
            }
        }
    }

    @JvmStatic
    fun aStoryComesInPieces() {
        Model.open(Tests.blob("language")).use { model ->
            model.generator(SessionOptions()).use { story ->
                story.append(1, 80)
                val pieces = story.pieces(7).toList()
                Tests.equal(7, pieces.size)
                val tokens = story.tokens()
                Tests.equal(9, tokens.size)
                val words = model.text().use { it.decode(*tokens.copyOfRange(2, 9)) }
                // The last character may be incomplete.
                Tests.check(words.startsWith(pieces.joinToString("")), "$pieces is not $words")
            }
        }
    }
}
