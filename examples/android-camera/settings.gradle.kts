// SPDX-License-Identifier: Apache-2.0
pluginManagement {
    repositories {
        google()
        mavenCentral()
    }
}
dependencyResolutionManagement {
    repositoriesMode = RepositoriesMode.FAIL_ON_PROJECT_REPOS
    repositories {
        google()
        mavenCentral()
    }
    versionCatalogs {
        create("libs") { from(files("../../bindings/android/gradle/libs.versions.toml")) }
    }
}
rootProject.name = "ferry-camera"
includeBuild("../../bindings/android") {
    dependencySubstitution { substitute(module("io.ferry:ferry")).using(project(":")) }
}
