// SPDX-License-Identifier: Apache-2.0
// A camera app that frames faces. Versions are those of bindings/android. Untested, like that: docs/android.md.
import java.io.ByteArrayOutputStream
import javax.inject.Inject

plugins {
    alias(libs.plugins.android.application)
}

android {
    namespace = "io.ferry.camera"
    compileSdk = libs.versions.compileSdk.get().toInt()
    ndkVersion = libs.versions.ndk.get() // strips the libraries

    defaultConfig {
        minSdk = libs.versions.minSdk.get().toInt()
        targetSdk = libs.versions.targetSdk.get().toInt()
        versionCode = 1
        versionName = "1"
        testInstrumentationRunner = "androidx.test.runner.AndroidJUnitRunner"
    }
    buildTypes {
        release {
            isMinifyEnabled = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
        }
    }
    compileOptions { // Kotlin follows them
        sourceCompatibility = JavaVersion.toVersion(libs.versions.java.get())
        targetCompatibility = JavaVersion.toVersion(libs.versions.java.get())
    }
    androidResources { noCompress += "ferry" } // so that a blob can be mapped inside the APK
    sourceSets.getByName("androidTest").assets.srcDir("../data") // photographs
}

dependencies {
    implementation("io.ferry:ferry")
    implementation(libs.androidx.activity)
    implementation(libs.androidx.camera.camera2)
    implementation(libs.androidx.camera.core)
    implementation(libs.androidx.camera.lifecycle)
    implementation(libs.androidx.camera.view)
    implementation(libs.androidx.lifecycle.runtime)
    implementation(libs.androidx.lifecycle.viewmodel)
    implementation(libs.kotlinx.coroutines.android)
    androidTestImplementation(libs.androidx.test.junit)
    androidTestImplementation(libs.androidx.test.runner)
}

/**
 * Writes the model among the assets: UltraFace, downloaded from its publisher, converted and certified by `ferry get`
 * on this machine, or the same blob as Ferry's source archive has it.
 */
abstract class GetModel @Inject constructor(private val runner: ExecOperations) : DefaultTask() {
    @get:Optional
    @get:InputFile
    @get:PathSensitive(PathSensitivity.NONE)
    abstract val ready: RegularFileProperty

    @get:Input
    abstract val command: Property<String>

    @get:InputDirectory
    @get:PathSensitive(PathSensitivity.RELATIVE)
    abstract val certificate: DirectoryProperty

    @get:OutputDirectory
    abstract val assets: DirectoryProperty

    @TaskAction
    fun get() {
        val blob = assets.file("model.ferry").get().asFile
        blob.parentFile.mkdirs()
        if (ready.isPresent) {
            ready.get().asFile.copyTo(blob, overwrite = true)
            return
        }
        val said = ByteArrayOutputStream()
        val code = try {
            runner.exec {
                commandLine(command.get(), "get", "Linzaer/version-RFB-320", "--certify", certificate.get().asFile.path,
                    "-o", blob.path)
                standardOutput = said
                errorOutput = said
                isIgnoreExitValue = true
            }.exitValue
        } catch (e: Exception) {
            throw GradleException("The command '${command.get()}' cannot be run (${e.message}). Build Ferry for this " +
                "machine, or name its command with -Pferry.command=PATH, or put a blob of your own into " +
                "src/main/assets/model.ferry", e)
        }
        if (code != 0) throw GradleException("ferry get ended with $code: $said")
        logger.lifecycle(said.toString().trim())
    }
}

// A model of your own in src/main/assets replaces it.
if (!file("src/main/assets/model.ferry").exists()) {
    val tree = layout.projectDirectory.dir("../..")
    val program = if (System.getProperty("os.name").startsWith("Windows")) "ferry.exe" else "ferry"
    val built = listOf("release", "dev").map { tree.file("build/$it/bin/$program").asFile }.firstOrNull { it.exists() }
    androidComponents.onVariants { variant ->
        val getModel = tasks.register<GetModel>("get${variant.name.replaceFirstChar(Char::uppercase)}Model") {
            val blob = tree.file("prepared/faces.ferry") // of a source archive
            if (blob.asFile.exists()) ready = blob
            command = providers.gradleProperty("ferry.command").orElse(built?.path ?: program)
            certificate = layout.projectDirectory.dir("certificate/ultraface_rfb_320")
        }
        variant.sources.assets?.addGeneratedSourceDirectory(getModel, GetModel::assets)
    }
}
