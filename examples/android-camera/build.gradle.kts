// SPDX-License-Identifier: Apache-2.0
// Never run where Ferry is made, as bindings/android/build.gradle.kts.
plugins {
    id("com.android.application") version "8.7.3"
}

android {
    namespace = "io.ferry.camera"
    compileSdk = 35

    defaultConfig {
        minSdk = 24
        targetSdk = 35
        versionCode = 1
        versionName = "1"
    }
    // A blob is mapped where it lies in the APK.
    androidResources {
        noCompress += "ferry"
    }
}

dependencies {
    implementation("io.ferry:ferry")
}
