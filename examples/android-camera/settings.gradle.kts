// SPDX-License-Identifier: Apache-2.0
pluginManagement {
    repositories {
        google()
        mavenCentral()
    }
}
dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
    }
}
rootProject.name = "ferry-camera"
includeBuild("../../bindings/android") {
    dependencySubstitution { substitute(module("io.ferry:ferry")).using(project(":")) }
}
