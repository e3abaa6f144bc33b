// SPDX-License-Identifier: Apache-2.0
// io.ferry:ferry-text: the native libraries of language models, libferry_text.so and libferry_text_jni.so. Their Java
// classes are in io.ferry:ferry, so apps without language models omit this module.
plugins {
    alias(libs.plugins.android.library)
    `maven-publish`
}

android {
    namespace = "io.ferry.text"
    compileSdk = libs.versions.compileSdk.get().toInt()
    ndkVersion = libs.versions.ndk.get()

    defaultConfig {
        minSdk = libs.versions.minSdk.get().toInt()
        ndk { abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64") }
        externalNativeBuild {
            cmake {
                arguments += listOf("-DANDROID_STL=c++_static", "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON")
                targets += listOf("ferry_text_shared", "ferry_text_jni")
            }
        }
    }
    lint { targetSdk = libs.versions.targetSdk.get().toInt() }
    buildFeatures { prefabPublishing = true }
    prefab {
        create("ferry_text_shared") {
            headers = "../../../sdk/include"
            libraryName = "libferry_text"
        }
    }
    externalNativeBuild {
        cmake {
            path = file("../jni/CMakeLists.txt")
            version = libs.versions.cmake.get()
        }
    }
    // It is in io.ferry:ferry; an app cannot contain it twice.
    packaging { jniLibs { excludes += listOf("**/libferry.so", "**/libferry_jni.so") } }
    publishing { singleVariant("release") { withSourcesJar() } }
}

dependencies {
    api(project(":"))
}

apply(from = "../publish.gradle.kts")
