// SPDX-License-Identifier: Apache-2.0
// The Maven publication of a module: AAR, sources, Javadoc if the module has it, and POM. `gradle publish` writes them
// to build/maven. For another repository: gradle publish -Pferry.maven=URL -PferryUsername=... -PferryPassword=...;
// Maven Central also needs -Pferry.home=URL, the project's page, and signatures.
val home = providers.gradleProperty("ferry.home").orNull

configure<PublishingExtension> {
    publications.register<MavenPublication>("release") {
        afterEvaluate { from(components["release"]) }
        pom {
            name = project.name
            description = "Runs PyTorch, ONNX and Keras models on Android phones and Linux boards"
            if (home != null) {
                url = home
                scm { url = home }
            }
            licenses {
                license {
                    name = "Apache-2.0"
                    url = "https://www.apache.org/licenses/LICENSE-2.0.txt"
                    distribution = "repo"
                }
            }
            developers {
                developer {
                    id = "ferry"
                    name = "The Ferry authors"
                }
            }
        }
    }
    repositories.maven {
        val target = providers.gradleProperty("ferry.maven").orNull
        if (target == null) {
            name = "folder"
            url = uri(rootProject.layout.buildDirectory.dir("maven"))
        } else {
            name = "ferry"
            url = uri(target)
            if (!target.startsWith("file:")) credentials(PasswordCredentials::class)
        }
    }
}
