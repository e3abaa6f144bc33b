// SPDX-License-Identifier: Apache-2.0
package io.ferry

import java.io.Closeable
import java.nio.ByteBuffer
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** Kotlin's additions: coroutines, their cancellation, and flows. */
@OptIn(ExperimentalCoroutinesApi::class)
object CoroutinesTest {
    private fun gray(): Frame = frame(Frame.Format.GRAY, 8, 8) {
        plane(ByteBuffer.allocateDirect(64), 8, 1)
        rotation(90)
    }

    @JvmStatic
    fun aTaskIsPreparedAndRunInTheWorkersThread() {
        Worker("coroutines").use { worker ->
            runBlocking {
                val model = worker.await { Model.open(Tests.golden("v1_small_classifier")) }
                val task = worker.await {
                    Tests.equal("coroutines", Thread.currentThread().name)
                    model.use { it.task(options { threads(1) }) }
                }
                when (val answer = task.runOn(worker, Request.of(gray()).top(2))) {
                    is Answer.Classes -> Tests.equal(2, answer.classes().size)
                    else -> throw AssertionError("$answer")
                }
                task.close()
            }
        }
    }

    @JvmStatic
    fun failuresAreThrownWhereTheResultIsAwaited() {
        Worker("coroutines").use { worker ->
            Tests.refused(FerryException.Status.IO_ERROR, "absent.ferry") {
                runBlocking { worker.await { Model.open("absent.ferry") } }
            }
        }
    }

    /** Memory that the work reads may be freed as soon as await() throws. */
    @JvmStatic
    fun aCancelledCallEndsAfterItsWork() {
        val begun = CountDownLatch(1)
        val end = CountDownLatch(1)
        val ended = AtomicInteger()
        Worker("coroutines").use { worker ->
            runBlocking(Dispatchers.Default) {
                val call = launch {
                    worker.await({ end.countDown() }) {
                        begun.countDown()
                        end.await()
                        Thread.sleep(20)
                        ended.incrementAndGet()
                    }
                }
                begun.await()
                call.cancelAndJoin()
                Tests.equal(1, ended.get())
            }
        }
    }

    @JvmStatic
    fun workThatHasNotBegunIsSkippedAndNothingIsCancelled() {
        val begun = CountDownLatch(1)
        val end = CountDownLatch(1)
        val wrong = AtomicInteger()
        Worker("coroutines").use { worker ->
            runBlocking(Dispatchers.Default) {
                val first = launch {
                    worker.await({ wrong.incrementAndGet() }) {
                        begun.countDown()
                        end.await()
                    }
                }
                begun.await()
                val second = async { worker.await({ wrong.incrementAndGet() }) { wrong.incrementAndGet() } }
                while (worker.pending() < 2) Thread.sleep(1)
                second.cancel()
                end.countDown()
                first.join()
                try {
                    second.await()
                    throw AssertionError("not cancelled")
                } catch (e: CancellationException) {
                    Tests.equal(0, wrong.get())
                }
            }
        }
    }

    @JvmStatic
    fun aResultThatNobodyReceivesIsClosed() {
        val begun = CountDownLatch(1)
        val end = CountDownLatch(1)
        val closed = AtomicInteger()
        Worker("coroutines").use { worker ->
            runBlocking(Dispatchers.Default) {
                val call = launch {
                    worker.await<Closeable>({ end.countDown() }) {
                        begun.countDown()
                        end.await()
                        Closeable { closed.incrementAndGet() }
                    }
                }
                begun.await()
                call.cancelAndJoin()
                Tests.equal(1, closed.get())
            }
        }
    }

    @JvmStatic
    fun whatIsClosedMeanwhileIsNotCancelled() {
        val begun = CountDownLatch(1)
        val end = CountDownLatch(1)
        Worker("coroutines").use { worker ->
            runBlocking(Dispatchers.Default) {
                val call = async {
                    worker.await({
                        end.countDown()
                        throw IllegalStateException("this task is closed")
                    }) {
                        begun.countDown()
                        end.await()
                        Thread.sleep(20)
                    }
                }
                begun.await()
                call.cancelAndJoin()
                Tests.check(call.getCompletionExceptionOrNull() is CancellationException, "not only cancelled")
            }
        }
    }

    @JvmStatic
    fun aRunThatIsCancelledLeavesTheTaskUsable() {
        Model.open(Tests.blob("upscaler")).use { model ->
            model.task(SessionOptions()).use { task ->
                Worker("coroutines").use { worker ->
                    val side = 2000
                    val image = Image(side, side, ByteBuffer.allocateDirect(3 * side * side))
                    val small = Image(8, 8, ByteBuffer.allocateDirect(3 * 64))
                    runBlocking(Dispatchers.Default) {
                        val begun = CountDownLatch(1)
                        val request = Request.of(image).tile(16).progress { _, _ -> begun.countDown() }
                        val call = launch { task.runOn(worker, request) }
                        begun.await()
                        call.cancelAndJoin()
                        Tests.check(task.runOn(worker, Request.of(small)) is Answer.NewImage, "no image")
                    }
                }
            }
        }
    }

    @JvmStatic
    fun stepsEndWithTheAnswer() {
        Model.open(Tests.blob("upscaler")).use { model ->
            model.task(SessionOptions()).use { task ->
                Worker("coroutines").use { worker ->
                    val image = Image(64, 64, ByteBuffer.allocateDirect(3 * 64 * 64))
                    val steps = runBlocking { task.steps(worker, Request.of(image).tile(16)).toList() }
                    Tests.check((steps.last() as Step.Done).answer is Answer.NewImage, "$steps")
                    for (step in steps.dropLast(1)) {
                        Tests.check(step is Step.Working && step.done <= step.total, "$step")
                    }
                }
            }
        }
    }

    @JvmStatic
    fun tokensFlowAndContinue() {
        Model.open(Tests.blob("language")).use { model ->
            model.generator(SessionOptions()).use { story ->
                Worker("coroutines").use { worker ->
                    story.append(1, 80)
                    val first = runBlocking { story.tokens(worker, 100).take(3).map { it.id() }.toList() }
                    val later = runBlocking { story.tokens(worker, 4).map { it.id() }.toList() }
                    Tests.equal(listOf(1, 80) + first + later, story.tokens().toList())
                }
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
