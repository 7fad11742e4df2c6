package org.belfry

import java.util.Locale
import java.util.TimeZone
import org.json.JSONObject

/** What an app wants the server to know of its device. */
data class Registration(
    /** Topics to subscribe to; tags in PCF's words. Case does not count. */
    val topics: Set<String> = emptySet(),
    /** The app's own name for its user, in the form that its back end has signed; null for none. See docs/Pushing.md, "Whose device it is". */
    val user: String? = null,
    val alias: String? = null,
    /** Values by which audiences find the device. An attribute that is left out keeps its value. */
    val attributes: Map<String, String> = emptyMap()
)

/** The credentials of a platform, from `belfry platform create`. */
data class Platform(val uuid: String, val secret: String)

/** The place at which a provider reaches this device. */
data class Address(val platform: Platform, val token: String) {
    companion object {
        /** A subscription of Web Push, which a distributor of UnifiedPush gives: for platforms of type `web`. */
        fun ofWebPush(platform: Platform, endpoint: String, p256dh: String, auth: String): Address {
            val keys = json("p256dh" to p256dh, "auth" to auth)
            return Address(platform, json("endpoint" to endpoint, "keys" to keys).toString())
        }
    }
}

/** What the device says of itself. It is asked again before each exchange, so that a new language reaches the server at the next start. */
data class DeviceFacts(
    val system: String = "android",
    val systemVersion: String? = null,
    val manufacturer: String? = null,
    val model: String? = null,
    val appVersion: String? = null,
    /** A language tag such as `de-CH`. */
    val language: String? = Locale.getDefault().toLanguageTag(),
    /** A name of the IANA's such as `Europe/Zurich`. */
    val timeZone: String? = TimeZone.getDefault().id,
    /** Such as `CH`. */
    val country: String? = Locale.getDefault().country
)

/** The body of a registration, as it was or is to be sent. Two that are equal need no second request. */
internal data class Request(val platform: Platform, val token: String, val body: String) {
    /** Whether it is for the platform of a device, whatever secret that had. */
    fun isOf(device: Device?): Boolean = platform.uuid == device?.platform?.uuid

    val user: String? get() = JSONObject(body).text("custom_user_id")

    /** The request without its user: the server keeps the one that it has. */
    fun withoutUser(): Request = copy(body = JSONObject(body).apply { remove("custom_user_id") }.toString())

    companion object {
        fun of(address: Address, wish: Registration, facts: DeviceFacts, keys: MessageKeys): Request {
            val members = json(
                "registration_token" to address.token,
                "os" to facts.system,
                "os_version" to facts.systemVersion,
                "device_manufacturer" to facts.manufacturer,
                "device_model" to facts.model,
                // The full set, sorted, so that the order of an app's set makes no difference.
                "tags" to array(wish.topics.sorted()),
                // Empty texts clear what was there.
                "custom_user_id" to (wish.user ?: ""),
                "device_alias" to (wish.alias ?: ""),
                "language" to facts.language,
                "time_zone" to facts.timeZone,
                "app_version" to facts.appVersion,
                "country" to facts.country,
                "encryption_keys" to json("p256dh" to keys.p256dh, "auth" to keys.authText)
            )
            if (wish.attributes.isNotEmpty()) {
                members.put("attributes", json(*wish.attributes.toSortedMap().map { it.key to it.value }.toTypedArray()))
            }
            return Request(address.platform, address.token, members.toString())
        }
    }
}
