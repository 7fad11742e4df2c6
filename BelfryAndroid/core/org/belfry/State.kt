package org.belfry

import java.io.File
import java.io.FileOutputStream
import java.io.IOException
import org.json.JSONException
import org.json.JSONObject

/** A device as the server knows it. */
internal data class Device(val uuid: String, val platform: Platform)

/** All that has to survive the end of the process, in one file that is replaced as a whole. */
internal data class State(
    /** The keys of this phone, sealed: a phone that cannot open them was restored from another's backup. */
    val keys: String,
    val wish: Registration? = null,
    val address: Address? = null,
    val device: Device? = null,
    /** What the server last confirmed. */
    val confirmed: Request? = null,
    /** When it did, in milliseconds since 1970. */
    val confirmedAt: Long = 0,
    /** What was sent since, and not answered: the server may have done it or not. */
    val sent: Request? = null,
    /** The device on the platform that was left, which is to be deleted: the server has merged it only if both are of one application. */
    val left: Device? = null,
    /** The server that all this is about; null in files of earlier versions. */
    val server: String? = null,
    /** The time until which it wants to be left alone, in milliseconds since 1970. */
    val heldUntil: Long = 0,
    val events: List<Event> = emptyList(),
    /** The receipts of the last pushes, so that one that comes twice is shown and counted once. */
    val recent: List<String> = emptyList()
) {
    /** The state to go on with at a server: another one knows nothing of the registration yet. */
    fun at(server: String): State =
        if (this.server == server) this else copy(server = server, confirmed = null, heldUntil = 0)

    /**
     * Notes an event. The oldest go when there are too many, except those in flight, which stand first. Other apps can open an activity with any
     * text in the place of a receipt; the server counts UUIDs alone.
     */
    fun noting(event: Event): State {
        if (!event.receipt.matches(receiptForm)) return this
        val all = events + event
        return copy(events = if (all.size <= Event.keptMax) all else all.take(Event.perRequestMax) + all.drop(Event.perRequestMax + 1))
    }

    /** Notes a push that arrived, with its event; unchanged for one that is known. */
    fun seeing(receipt: String, event: Event?): State {
        if (receipt in recent) return this
        val seen = copy(recent = (recent + receipt).takeLast(recentMax))
        return if (event == null) seen else seen.noting(event)
    }

    fun json(): JSONObject = json(
        "keys" to keys, "wish" to wish?.json(), "address" to address?.let { it.platform.json().put("token", it.token) },
        "device" to device?.json(), "confirmed" to confirmed?.json(),
        "confirmed_at" to confirmedAt, "sent" to sent?.json(), "left" to left?.json(), "server" to server, "held_until" to heldUntil,
        "events" to array(events.map { it.json() }), "recent" to array(recent))

    companion object {
        const val recentMax = 100
        private val receiptForm = Regex("[0-9A-Fa-f-]{36}")

        fun of(json: JSONObject): State = State(
            json.getString("keys"),
            json.member("wish")?.let { registration(it) },
            json.member("address")?.let { Address(platform(it), it.getString("token")) },
            json.member("device")?.let { device(it) },
            json.member("confirmed")?.let { request(it) },
            json.optLong("confirmed_at"),
            json.member("sent")?.let { request(it) },
            json.member("left")?.let { device(it) },
            json.text("server"),
            json.optLong("held_until"),
            json.optJSONArray("events").objects().map { Event.of(it) },
            json.optJSONArray("recent")?.let { all -> (0 until all.length()).map { all.getString(it) } } ?: emptyList())

        private fun platform(json: JSONObject) = Platform(json.getString("platform"), json.getString("secret"))

        private fun device(json: JSONObject) = Device(json.getString("device"), platform(json))

        private fun request(json: JSONObject) = Request(platform(json), json.getString("token"), json.getString("body"))

        private fun registration(json: JSONObject): Registration {
            val topics = json.getJSONArray("topics")
            return Registration(
                (0 until topics.length()).map { topics.getString(it) }.toSet(), json.text("user"), json.text("alias"),
                json.getJSONObject("attributes").texts())
        }
    }
}

private fun Platform.json() = json("platform" to uuid, "secret" to secret)

private fun Device.json() = platform.json().put("device", uuid)

private fun Request.json() = platform.json().put("token", token).put("body", body)

private fun Registration.json() = json(
    "topics" to array(topics), "user" to user, "alias" to alias,
    "attributes" to json(*attributes.map { it.key to it.value }.toTypedArray()))

/** Something that became of a push on this device and that the server is to count. */
internal data class Event(
    val kind: Kind,
    val receipt: String,
    /** Milliseconds since 1970. */
    val time: Long,
    /** The device that it is sent for. */
    val device: String?,
    /** Whether it may have been sent: from then on its words stay the same, so that the server knows a repetition. */
    val isFixed: Boolean = false
) {
    enum class Kind { received, opened, dismissed }

    /** Every value is a text, as the SDKs of PCF write them. Source: the PCF Push API, "Analytics"; dismissals are Belfry's own. */
    fun wire(): JSONObject = json(
        "eventType" to "pcf_push_event_type_push_notification_$kind", "eventTime" to time.toString(), "receiptId" to receipt,
        "deviceUuid" to device, "platformType" to "android")

    fun json(): JSONObject =
        json("kind" to kind.name, "receipt" to receipt, "time" to time, "device" to device, "fixed" to isFixed)

    companion object {
        /** The most events that are kept while the server cannot be reached. */
        const val keptMax = 1_000
        /** The most that one request carries. */
        const val perRequestMax = 100
        /** The age after which an event is counted as of this age, in milliseconds: 29 days. Servers count events of thirty. */
        const val lateMax = 29 * 86_400_000L

        fun of(json: JSONObject): Event = Event(
            Kind.valueOf(json.getString("kind")), json.getString("receipt"), json.getLong("time"), json.text("device"),
            json.getBoolean("fixed"))
    }
}

/** Reads and replaces the file. */
internal class StateFile(private val folder: File) {
    private val file = File(folder, "belfry.json")

    /** null where there is none. One that cannot be read is none: the server finds the device by its token. */
    fun read(): State? = try {
        parsed(file.readText())?.let { State.of(it) }
    } catch (error: IOException) {
        null
    } catch (error: JSONException) {
        null
    } catch (error: IllegalArgumentException) {
        null
    }

    fun write(state: State) {
        try {
            folder.mkdirs()
            val draft = File(folder, "belfry.json.new")
            FileOutputStream(draft).use {
                it.write(state.json().toString().toByteArray())
                it.fd.sync()
            }
            if (!draft.renameTo(file)) throw IOException("$draft cannot replace $file")
        } catch (error: IOException) {
            throw BelfryError.Storage(error.toString())
        }
    }
}
