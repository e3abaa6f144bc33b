// SPDX-License-Identifier: Apache-2.0
// In place of androidx.activity, for tests without Maven: compiled against only.
package androidx.activity

import android.app.Activity
import androidx.activity.result.ActivityResultCallback
import androidx.activity.result.ActivityResultLauncher
import androidx.activity.result.contract.ActivityResultContract
import androidx.lifecycle.Lifecycle
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ViewModel

open class ComponentActivity : Activity(), LifecycleOwner {
    override val lifecycle: Lifecycle get() = TODO()

    fun <I, O> registerForActivityResult(contract: ActivityResultContract<I, O>, callback: ActivityResultCallback<O>):
        ActivityResultLauncher<I> = TODO("$contract $callback")
}

inline fun <reified VM : ViewModel> ComponentActivity.viewModels(): Lazy<VM> = lazy { TODO("${VM::class}") }
