// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera

import android.app.Application
import android.content.Context
import android.os.Build
import android.os.PowerManager
import android.os.SystemClock
import androidx.lifecycle.AndroidViewModel
import androidx.lifecycle.viewModelScope
import io.ferry.Ferry
import io.ferry.FerryException
import io.ferry.Frame
import io.ferry.Model
import io.ferry.Report
import io.ferry.Request
import io.ferry.SessionOptions
import io.ferry.SessionOptions.Backend
import io.ferry.Task
import io.ferry.Worker
import io.ferry.android.Models
import io.ferry.await
import io.ferry.options
import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Job
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.launch

/** What the screen shows. */
data class Screen(val status: String, val overlay: Overlay? = null)

/** The model: opened, verified, prepared and run in its own thread. It survives rotations of the screen. */
class Vision(application: Application) : AndroidViewModel(application) {
    private val mutableScreen = MutableStateFlow(Screen(""))
    val screen: StateFlow<Screen> get() = mutableScreen

    var backend = Backend.CPU
        private set

    private val worker = Worker("vision")
    private val busy = AtomicBoolean()
    private val power = application.getSystemService(Context.POWER_SERVICE) as PowerManager

    // Used by the worker; another thread only cancels the task.
    private var model: Model? = null
    @Volatile private var task: Task? = null

    // Used by the main thread.
    private var ready = ""
    private var preparing: Job? = null
    private var watching: Job? = null
    @Volatile private var effort = Effort.FULL
    @Volatile private var nextFrame = 0L

    /** Prepares the model for a backend: on another one than before, or after release(). */
    fun prepare(on: Backend = backend) {
        backend = on
        val former = preparing
        preparing = viewModelScope.launch {
            former?.cancelAndJoin()
            mutableScreen.value = Screen("Checking and preparing the model for the $on")
            catching {
                ready = worker.await({ task?.cancel() }) { open(on, effort) }
                mutableScreen.value = Screen(ready)
            }
        }
    }

    /** In the worker. Returns where it runs, and the certificate's verdict. */
    private fun open(on: Backend, effort: Effort): String {
        task?.close()
        task = null
        val model = model ?: Models.open(getApplication<Application>(), "model.ferry").also { model = it }
        val folder = getApplication<Application>().cacheDir.path
        val options = options {
            backend(on).cacheDir(folder).gpuCacheDir(folder)
            threads(effort.threads(Runtime.getRuntime().availableProcessors()))
            if (effort != Effort.FULL) cores(SessionOptions.Cores.BALANCED)
        }
        val verdict = verdict(model, options)
        val task = model.task(options).also { task = it }
        return "${where(task.report())}\ncertificate: $verdict"
    }

    /** Does this device compute what the framework computed? */
    private fun verdict(model: Model, options: SessionOptions): String = try {
        val v = model.verify(options)
        val which = if (v.passed()) "passed; nearest to its bound is" else "FAILED; the first out of bounds is"
        "$which ${Ferry.printable(v.stage(), false)}, error %.1e, bound %.1e".format(v.error(), v.bound())
    } catch (e: FerryException) {
        if (e.status() != FerryException.Status.NOT_FOUND) throw e
        "none in this blob"
    }

    private fun where(report: Report): String = when {
        report.backend() == Backend.GPU -> Ferry.printable(report.device(), false)
        report.message().isEmpty() -> "CPU, cores ${report.cpus()}"
        else -> "CPU, because: ${report.message()}"
    }

    /** Takes a camera's image over, from any thread, and closes it: at once if the former one is still processed. */
    fun look(image: AutoCloseable, frame: () -> Frame) {
        val begin = SystemClock.elapsedRealtime()
        val wanted = effort != Effort.PAUSED && begin >= nextFrame
        if (!wanted || !busy.compareAndSet(false, true)) {
            image.close()
            return
        }
        nextFrame = begin + effort.millisBetweenFrames
        // Undispatched, so that it begins, and closes the image, even if the model is being cleared.
        viewModelScope.launch(start = CoroutineStart.UNDISPATCHED) {
            try {
                catching {
                    val overlay = worker.await({ task?.cancel() }) {
                        task?.let {
                            val upright = frame()
                            Overlay.of(it.run(Request.of(upright)), upright.width(), upright.height())
                        }
                    }
                    val time = SystemClock.elapsedRealtime() - begin
                    if (overlay != null) {
                        mutableScreen.value = Screen("$time ms on $ready ${effort.description}", overlay)
                    }
                }
            } finally {
                image.close()
                busy.set(false)
            }
        }
    }

    fun problem(sentence: String) {
        mutableScreen.value = Screen(Ferry.printable(sentence, true))
    }

    private inline fun catching(work: () -> Unit) = try {
        work()
    } catch (e: CancellationException) {
        throw e
    } catch (e: Exception) {
        val byUs = e is FerryException && e.status() == FerryException.Status.CANCELLED
        if (!byUs) problem(e.message ?: e.toString()) else Unit
    }

    /** While the camera runs: prepares what was released, and watches the device's heat. */
    fun start() {
        if (task == null && preparing?.isActive != true) prepare()
        watching?.cancel()
        watching = viewModelScope.launch {
            while (true) {
                val now = Effort.of(effort, headroom(), thermalStatus())
                if (now != effort) {
                    effort = now
                    if (now == Effort.PAUSED) problem(now.description) else prepare()
                }
                delay(HEAT_EVERY_MS)
            }
        }
    }

    fun stop() {
        watching?.cancel()
    }

    // NaN where the device does not know, or is asked more often than once a second.
    private fun headroom(): Float =
        if (Build.VERSION.SDK_INT >= 30) power.getThermalHeadroom(HEAT_AHEAD_S) else Float.NaN

    private fun thermalStatus(): Int = if (Build.VERSION.SDK_INT >= 29) power.currentThermalStatus else 0

    /** Frees the session's memory; start() prepares it again. The model stays mapped, which costs no memory. */
    fun release() {
        preparing?.cancel()
        worker.execute {
            task?.close()
            task = null
        }
    }

    override fun onCleared() {
        worker.execute {
            task?.close()
            model?.close()
        }
        worker.close()
    }

    private companion object {
        const val HEAT_EVERY_MS = 5000L
        const val HEAT_AHEAD_S = 10
    }
}
