package org.belfry

/**
 * A URL to which an application server that speaks Web Push, such as Mastodon or one for UnifiedPush, posts what only this device can read.
 *
 * The app gives the server all of it but the id. A message arrives as a [PushMessage] whose `endpoint` is the id.
 */
data class WebPushEndpoint(
    val id: String,
    /** Whoever knows it can push to this device. The server tells it once. */
    val url: String,
    val p256dh: String,
    val auth: String
)

/** A push as the server keeps it for this device. */
data class ServerMessage(val acceptedAt: Long, val expiresAt: Long?, val message: PushMessage)
