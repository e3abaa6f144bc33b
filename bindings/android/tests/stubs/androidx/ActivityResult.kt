// SPDX-License-Identifier: Apache-2.0
// In place of androidx.activity, for tests without Maven: compiled against only.
package androidx.activity.result

fun interface ActivityResultCallback<O> {
    fun onActivityResult(result: O)
}

abstract class ActivityResultLauncher<I> {
    abstract fun launch(input: I)
}
