// SPDX-License-Identifier: Apache-2.0
// io.ferry:ferry: Java and Kotlin, libferry_jni.so, and libferry.so with its headers for native apps (prefab).
// gradle/libs.versions.toml has all versions. Untested: docs/android.md says what is built and run.
plugins {
    alias(libs.plugins.android.library)
    `maven-publish`
}

android {
    namespace = "io.ferry"
    compileSdk = libs.versions.compileSdk.get().toInt()
    ndkVersion = libs.versions.ndk.get()

    defaultConfig {
        minSdk = libs.versions.minSdk.get().toInt()
        testInstrumentationRunner = "androidx.test.runner.AndroidJUnitRunner"
        consumerProguardFiles("consumer-rules.pro")
        ndk { abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64") }
        externalNativeBuild {
            cmake {
                arguments += listOf("-DANDROID_STL=c++_static", "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON")
                targets += listOf("ferry_shared", "ferry_jni")
            }
        }
    }
    testOptions { targetSdk = libs.versions.targetSdk.get().toInt() }
    lint { targetSdk = libs.versions.targetSdk.get().toInt() }
    buildFeatures { prefabPublishing = true }
    prefab {
        create("ferry_shared") {
            headers = "../../sdk/include"
            libraryName = "libferry"
        }
    }
    externalNativeBuild {
        cmake {
            path = file("jni/CMakeLists.txt")
            version = libs.versions.cmake.get()
        }
    }
    compileOptions { // Kotlin follows them
        sourceCompatibility = JavaVersion.toVersion(libs.versions.java.get())
        targetCompatibility = JavaVersion.toVersion(libs.versions.java.get())
    }
    // Blobs of the tests on a device: small ones of every kind.
    sourceSets.getByName("androidTest").assets.srcDir("../../tests/golden")
    androidResources { noCompress += "ferry" }
    publishing {
        singleVariant("release") {
            withSourcesJar()
            withJavadocJar()
        }
    }
}

dependencies {
    api(libs.jspecify)
    api(libs.kotlinx.coroutines.core)
    compileOnly(libs.androidx.camera.core) // CameraXFrames: for apps that depend on it themselves
    androidTestImplementation(libs.androidx.test.junit)
    androidTestImplementation(libs.androidx.test.runner)
}

apply(from = "publish.gradle.kts")
