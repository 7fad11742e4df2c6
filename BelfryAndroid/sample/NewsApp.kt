// An app that uses BelfryAndroid. It gets its pushes by a distributor of UnifiedPush where the user has one, and by FCM elsewhere.
package org.example.news

import android.app.Activity
import android.app.Application
import android.content.Intent
import android.net.Uri
import android.os.Build
import android.os.Bundle
import org.belfry.BelfryChange
import org.belfry.Platform
import org.belfry.Registration
import org.belfry.android.BelfryFirebase
import org.belfry.android.BelfryPush
import org.belfry.android.BelfrySettings
import org.belfry.android.BelfryUnifiedPush

class NewsApp : Application() {
    override fun onCreate() {
        super.onCreate()
        BelfryPush.start(
            this,
            BelfrySettings(
                server = "https://push.example.org",
                google = Platform("00000000-0000-0000-0000-000000000000", "from belfry platform create"),
                web = Platform("11111111-1111-1111-1111-111111111111", "from belfry platform create"),
                vapidPublicKey = "from belfry platform show",
                channelName = "News"))
        BelfryPush.belfry.onChange = { change -> if (change is BelfryChange.Failed) println("later: ${change.error.message}") }
        BelfryPush.belfry.register(Registration(topics = setOf("news")))
    }
}

class NewsActivity : Activity() {
    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        BelfryUnifiedPush.start(this, otherwise = BelfryFirebase::start)
        // In an app of your own, a button asks, so that its user expects the question.
        if (Build.VERSION.SDK_INT >= 33) requestPermissions(arrayOf("android.permission.POST_NOTIFICATIONS"), 1)
        show(BelfryPush.opened(intent))
    }

    override fun onNewIntent(intent: Intent) {
        super.onNewIntent(intent)
        show(BelfryPush.opened(intent))
    }

    private fun show(link: String?) {
        if (link != null && link.startsWith("https://news.example.org/")) startActivity(Intent(Intent.ACTION_VIEW, Uri.parse(link)))
    }

    /** The form of the user's id that the app's back end has signed, or null at the logout. */
    fun userChanged(signed: String?) {
        BelfryPush.belfry.register(Registration(topics = setOf("news"), user = signed))
    }
}
