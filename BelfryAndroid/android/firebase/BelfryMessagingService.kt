package org.belfry.android

import com.google.firebase.messaging.FirebaseMessaging
import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage
import org.belfry.Address

/** Takes the messages of FCM, each on a thread of Firebase's. An app with a service of its own calls [BelfryFirebase] from it. */
class BelfryMessagingService : FirebaseMessagingService() {
    override fun onNewToken(token: String) = BelfryFirebase.onNewToken(token)

    override fun onMessageReceived(message: RemoteMessage) = BelfryFirebase.onMessageReceived(message)
}

object BelfryFirebase {
    /** Has FCM reach this device: call it when the app starts. A device that a distributor of UnifiedPush reached moves. */
    fun start() {
        val google = BelfryPush.settings.google ?: return
        FirebaseMessaging.getInstance().token.addOnSuccessListener { BelfryPush.belfry.setAddress(Address(google, it)) }
    }

    fun onNewToken(token: String) {
        val google = BelfryPush.settings.google ?: return
        BelfryPush.belfry.renewAddress(Address(google, token))
    }

    /** Reads, counts and shows a message; not on the main thread. */
    fun onMessageReceived(message: RemoteMessage) {
        // FCM writes names of its own into the place of a missing key: taken for tags, each push would replace the one before.
        val key = message.collapseKey?.takeIf { it != BelfryPush.packageName && it != "do_not_collapse" }
        BelfryPush.showNow(BelfryPush.belfry.received(message.data, message.notification?.tag ?: key))
    }
}
