package org.belfry

import org.json.JSONObject

/** A push as this device got it. */
data class PushMessage(
    /** null for a push of another server. */
    val receipt: String?,
    val title: String?,
    val body: String?,
    /** The target of a tap. */
    val link: String?,
    val image: String?,
    /** The notification channel that the sender named. */
    val channel: String?,
    val category: String?,
    /** Notifications of one thread are grouped. */
    val thread: String?,
    /** A notification with the same tag replaces this one. */
    val tag: String?,
    /** Everything that arrived beside, for the app. */
    val data: Map<String, String>,
    /** The tag of the notification that this push takes back; nothing is shown. */
    val retracts: String? = null,
    /** A message of an application server that speaks Web Push, decrypted, and the endpoint that it came by. */
    val webPush: ByteArray? = null,
    val endpoint: String? = null,
    /** Whether it was encrypted for keys that this device does not have: something came, and `body` is what its server says instead. */
    val isUnreadable: Boolean = false
) {
    /** Whether there is something to show. */
    val isShown: Boolean get() = retracts == null && (title != null || body != null || isUnreadable)

    companion object {
        /**
         * Reads the data of FCM, in which every value is a text.
         *
         * @param given the tag that FCM's message has besides.
         */
        internal fun ofData(data: Map<String, String>, given: String?, keys: MessageKeys?): PushMessage {
            data["webpush"]?.let { return ofEndpoint(data, it, keys) }
            val tag = data["belfry.replaces"] ?: given ?: data["receiptId"]
            data["encrypted"]?.let { return ofEncrypted(it, data["receiptId"], tag, data["encrypted_alert"], keys) }
            return of(data["receiptId"], data["message"], tag, data).copy(retracts = data["belfry.retract"])
        }

        /** Reads what a browser would get: a declarative message, or the sender's own members. Source: docs/Pushing.md, "Browsers". */
        internal fun ofWebPush(bytes: ByteArray, keys: MessageKeys?): PushMessage {
            val members = parsed(String(bytes)) ?: return of(null, String(bytes), null, emptyMap())
            val receipt = members.text("receiptId")
            val retracts = members.member("belfry")?.text("retract")
            members.text("encrypted")?.let { return ofEncrypted(it, receipt, members.text("tag") ?: receipt, members.text("body"), keys) }
            val shown = members.member("notification") ?: members
            // A declarative message has the sender's data within its own, others have them beside.
            val data = shown.member("data")?.let { if (shown === members) it else it.member("data") }?.texts() ?: emptyMap()
            return ofMembers(shown, receipt, shown.text("navigate"), shown.text("tag") ?: receipt, data).copy(retracts = retracts)
        }

        /** Reads a message that its sender encrypted for this device: JSON of the members that a message in plain text has, or the text alone. */
        private fun ofEncrypted(text: String, receipt: String?, tag: String?, alert: String?, keys: MessageKeys?): PushMessage {
            val plain = text.fromBase64()?.let { keys?.decrypt(it) }
                ?: return of(receipt, alert, tag, emptyMap()).copy(isUnreadable = true)
            val members = parsed(String(plain)) ?: return of(receipt, String(plain), tag, emptyMap())
            return ofMembers(members, receipt, members.text("link"), tag, members.member("data")?.texts() ?: emptyMap())
        }

        private fun ofEndpoint(data: Map<String, String>, text: String, keys: MessageKeys?): PushMessage {
            val message = of(data["receiptId"], null, null, emptyMap()).copy(endpoint = data["webpush_endpoint"])
            val plain = opened(text, data["webpush_encoding"], data["webpush_encryption"], data["webpush_crypto_key"], keys)
            return message.copy(webPush = plain, isUnreadable = plain == null)
        }

        internal fun opened(text: String, coding: String?, encryption: String?, cryptoKey: String?, keys: MessageKeys?): ByteArray? {
            val sealed = text.fromBase64() ?: return null
            return if (coding == "aesgcm") keys?.decryptOlder(sealed, encryption ?: "", cryptoKey ?: "") else keys?.decrypt(sealed)
        }

        private fun of(receipt: String?, body: String?, tag: String?, data: Map<String, String>) = PushMessage(
            receipt, data["title"], body, data["link"], data["image"], data["channel"], data["category"], data["thread"], tag, data)

        private fun ofMembers(members: JSONObject, receipt: String?, link: String?, tag: String?, data: Map<String, String>) =
            PushMessage(
                receipt, members.text("title"), members.text("body"), link, members.text("image"), members.text("channel"),
                members.text("category"), members.text("thread"), tag, data)
    }
}
