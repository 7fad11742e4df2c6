package org.belfry.android

import android.content.Context
import org.belfry.Address
import org.unifiedpush.android.connector.FailedReason
import org.unifiedpush.android.connector.PushService
import org.unifiedpush.android.connector.UnifiedPush
import org.unifiedpush.android.connector.data.PushEndpoint
import org.unifiedpush.android.connector.data.PushMessage

/** Takes the messages of a distributor such as ntfy, for phones without Google's services. The connector calls it on the main thread. */
open class BelfryPushService : PushService() {
    override fun onNewEndpoint(endpoint: PushEndpoint, instance: String) {
        val web = BelfryPush.settings.web ?: return
        // A distributor of old, without keys, cannot keep a message secret.
        val keys = endpoint.pubKeySet ?: return
        BelfryPush.belfry.setAddress(Address.ofWebPush(web, endpoint.url, keys.pubKey, keys.auth))
    }

    override fun onMessage(message: PushMessage, instance: String) {
        if (message.decrypted) BelfryPush.showLater(BelfryPush.belfry.receivedWebPush(message.content))
    }

    /** The next start of the app tries again. */
    override fun onRegistrationFailed(reason: FailedReason, instance: String) = Unit

    /** The user removed the distributor or the app from it. The server learns that from the distributor's own answer to the next push. */
    override fun onUnregistered(instance: String) = Unit
}

object BelfryUnifiedPush {
    /**
     * Has a distributor reach this device: call it when an activity starts. The system asks the user which one, where there are some.
     *
     * @param otherwise what to do where there is none, such as `BelfryFirebase::start`.
     */
    fun start(context: Context, otherwise: () -> Unit = {}) {
        UnifiedPush.tryUseCurrentOrDefaultDistributor(context) { isThere ->
            if (isThere) UnifiedPush.register(context, vapid = BelfryPush.settings.vapidPublicKey) else otherwise()
        }
    }

    /** Leaves the distributor, for FCM or none. */
    fun stop(context: Context) = UnifiedPush.unregister(context)
}
