package org.belfry

import java.util.Base64
import org.json.JSONObject

/** The requests of a device, in the words of the PCF Push API. */
internal class Client(server: String, private val transport: Transport) {
    private val root = server.trimEnd('/') + "/v1/"

    /** Registers a device, or brings it up to date; returns its UUID. */
    fun register(device: String?, request: Request): String {
        val answer =
            if (device == null) send("POST", "registration", request.platform, request.body)
            else send("PUT", "registration/$device", request.platform, request.body)
        return parsed(answer.body)?.text("device_uuid") ?: throw BelfryError.Unreadable("no device_uuid")
    }

    fun delete(device: Device) {
        send("DELETE", "registration/${device.uuid}", device.platform)
    }

    fun serverTime(platform: Platform): Long? = send("GET", "version", platform).serverTime

    fun report(events: List<Event>, platform: Platform) {
        send("POST", "analytics", platform, json("events" to array(events.map { it.wire() })).toString())
    }

    fun makeEndpoint(device: Device, vapidPublicKey: String?, isFetched: Boolean): JSONObject {
        val body = json("vapid_public_key" to vapidPublicKey, "delivery" to if (isFetched) "fetch" else "push")
        return sendRead("POST", "registration/${device.uuid}/endpoints", device.platform, body.toString())
    }

    fun endEndpoint(device: Device, id: String) {
        send("DELETE", "registration/${device.uuid}/endpoints/$id", device.platform)
    }

    fun endpointMessages(device: Device, id: String): List<JSONObject> =
        sendRead("GET", "registration/${device.uuid}/endpoints/$id/messages", device.platform)
            .optJSONArray("messages").objects()

    fun acknowledge(device: Device, id: String, message: String) {
        send("DELETE", "registration/${device.uuid}/endpoints/$id/messages/$message", device.platform)
    }

    fun messages(device: Device, limit: Int): List<JSONObject> =
        sendRead("GET", "registration/${device.uuid}/messages?limit=$limit", device.platform)
            .optJSONArray("messages").objects()

    private fun sendRead(method: String, path: String, platform: Platform, body: String? = null): JSONObject =
        parsed(send(method, path, platform, body).body) ?: throw BelfryError.Unreadable("no JSON object")

    private fun send(method: String, path: String, platform: Platform, body: String? = null): Transport.Answer {
        val credentials = "${platform.uuid}:${platform.secret}".toByteArray()
        val answer = try {
            transport.send(method, root + path, "Basic " + Base64.getEncoder().encodeToString(credentials), body)
        } catch (error: Exception) {
            // Android's client throws more than IOException, such as a SecurityException without the permission to use the network.
            throw BelfryError.Unreachable(error.toString())
        }
        val status = answer.status
        val members = parsed(answer.body)
        val reason = members?.text("message")
        throw when {
            status == 204 || status in 200..299 && members != null -> return answer
            status == 408 || status == 429 || status >= 500 -> BelfryError.Busy(answer.retryAfterSeconds)
            // Without a reason it is not the server that speaks, but something before it.
            reason == null -> BelfryError.Unreadable("$status without JSON")
            status == 401 -> BelfryError.Unauthorized()
            else -> BelfryError.Refused(status, reason)
        }
    }
}
