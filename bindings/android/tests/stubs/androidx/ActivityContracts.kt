// SPDX-License-Identifier: Apache-2.0
// In place of androidx.activity, for tests without Maven: compiled against only.
package androidx.activity.result.contract

abstract class ActivityResultContract<I, O>

class ActivityResultContracts {
    class RequestPermission : ActivityResultContract<String, Boolean>()
}
