// SPDX-License-Identifier: Apache-2.0
// In place of androidx.lifecycle, for tests without Maven: compiled against only.
package androidx.lifecycle

import android.app.Application
import kotlinx.coroutines.CoroutineScope

abstract class Lifecycle {
    enum class State { DESTROYED, INITIALIZED, CREATED, STARTED, RESUMED }
}

interface LifecycleOwner {
    val lifecycle: Lifecycle
}

val LifecycleOwner.lifecycleScope: CoroutineScope get() = TODO("$this")

suspend fun LifecycleOwner.repeatOnLifecycle(state: Lifecycle.State, block: suspend CoroutineScope.() -> Unit): Unit =
    TODO("$this $state $block")

abstract class ViewModel {
    protected open fun onCleared() {}
}

val ViewModel.viewModelScope: CoroutineScope get() = TODO("$this")

open class AndroidViewModel(private val application: Application) : ViewModel() {
    @Suppress("UNCHECKED_CAST")
    open fun <T : Application> getApplication(): T = application as T
}
