// SPDX-License-Identifier: Apache-2.0
// Not tested by Ferry's authors, like bindings/android/build.gradle.kts.
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
    // So that a blob can be mapped inside the APK.
    androidResources {
        noCompress += "ferry"
    }
}

dependencies {
    implementation("io.ferry:ferry")
}
