// SPDX-License-Identifier: Apache-2.0
// The AAR: io.ferry, libferry_jni.so, libferry_text_jni.so, and libferry.so with its headers for native apps (prefab).
// Untested: Ferry is developed without an NDK and the Android Gradle plugin (docs/android.md).
plugins {
    id("com.android.library") version "8.7.3"
    id("org.jetbrains.kotlin.android") version "2.0.21"
}

group = "io.ferry"
version = "0.3.0"

android {
    namespace = "io.ferry"
    compileSdk = 35
    ndkVersion = "27.2.12479018"

    defaultConfig {
        minSdk = 24
        consumerProguardFiles("consumer-rules.pro")
        ndk { abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64") }
        externalNativeBuild {
            cmake {
                // Devices with 16 KB pages refuse libraries with smaller alignment.
                arguments += listOf("-DANDROID_STL=c++_static", "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON")
                targets += listOf("ferry_shared", "ferry_jni", "ferry_text_shared", "ferry_text_jni")
            }
        }
    }
    buildFeatures {
        prefabPublishing = true
    }
    prefab {
        create("ferry_shared") {
            headers = "../../sdk/include"
            libraryName = "libferry"
        }
    }
    externalNativeBuild {
        cmake {
            path = file("jni/CMakeLists.txt")
            version = "3.31.6" // Ferry needs 3.25
        }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    kotlinOptions {
        jvmTarget = "1.8"
    }
}
