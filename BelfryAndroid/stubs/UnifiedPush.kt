// The part of `org.unifiedpush.android:connector` 3 that is used. Source: its own source, github.com/UnifiedPush/android-connector.
@file:Suppress("UNUSED_PARAMETER")

package org.unifiedpush.android.connector

import android.app.Service
import android.content.Context
import android.content.Intent
import android.os.IBinder
import org.unifiedpush.android.connector.data.PushEndpoint
import org.unifiedpush.android.connector.data.PushMessage

enum class FailedReason { INTERNAL_ERROR, NETWORK, ACTION_REQUIRED, UNAUTH, VAPID_REQUIRED, DISTRIBUTOR_NOT_SAVED }

abstract class PushService : Service() {
    abstract fun onNewEndpoint(endpoint: PushEndpoint, instance: String)
    abstract fun onMessage(message: PushMessage, instance: String)
    abstract fun onRegistrationFailed(reason: FailedReason, instance: String)
    abstract fun onUnregistered(instance: String)
    override fun onBind(intent: Intent?): IBinder? = null
}

object UnifiedPush {
    fun tryUseCurrentOrDefaultDistributor(context: Context, callback: (Boolean) -> Unit) = callback(false)

    fun register(context: Context, instance: String = "default", messageForDistributor: String? = null, vapid: String? = null) = Unit

    fun unregister(context: Context, instance: String = "default") = Unit
}
