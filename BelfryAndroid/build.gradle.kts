// A module of an app's build, which says the versions of the two plugins. `belfry.ways=unifiedpush` in gradle.properties leaves Firebase out, and
// `belfry.ways=firebase` UnifiedPush.
plugins {
    id("com.android.library")
    id("org.jetbrains.kotlin.android")
}

val ways = (findProperty("belfry.ways") as String? ?: "firebase,unifiedpush").split(",")

android {
    namespace = "org.belfry.android"
    compileSdk = 35
    defaultConfig { minSdk = 26 }
    sourceSets["main"].apply {
        manifest.srcFile("AndroidManifest.xml")
        java.setSrcDirs(listOf("core", "android/base") + ways.map { "android/$it" })
    }
}

dependencies {
    if ("firebase" in ways) api("com.google.firebase:firebase-messaging:24.1.0")
    if ("unifiedpush" in ways) api("org.unifiedpush.android:connector:3.0.10")
}
