package org.belfry

import java.io.File
import java.util.Random
import java.util.concurrent.ArrayBlockingQueue
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executor
import java.util.concurrent.RejectedExecutionException
import java.util.concurrent.ThreadFactory
import java.util.concurrent.ThreadPoolExecutor
import java.util.concurrent.TimeUnit

/**
 * This device at a Belfry server: registers it, keeps it registered as the app wants, and counts what becomes of its pushes.
 *
 * What the app asks for is on the disk before anything is sent, and is sent again until the server has confirmed it, over restarts. Repeating
 * a call costs no request; a confirmed registration is sent again after a day. Every call returns at once, on any thread: one thread keeps the
 * state on the disk, another talks with the server. A future that fails has a [BelfryError] as its cause; the app need not wait for any.
 *
 * @param server its address, such as `https://push.example.org`.
 * @param folder of the SDK's own, which is made if it is missing.
 * @param facts asked before each exchange.
 * @param retry asks to have [resume] called after so many milliseconds, once there is a network, also when the process has ended by then. A call
 *   that is asked for already is enough.
 * @param clock milliseconds since 1970.
 */
class Belfry(
    private val server: String,
    folder: File,
    private val seal: Seal,
    private val retry: (afterMilliseconds: Long) -> Unit,
    transport: Transport = HttpTransport(),
    private val facts: () -> DeviceFacts = { DeviceFacts() },
    random: Random = Random(),
    private val clock: () -> Long = { System.currentTimeMillis() }
) {
    /** Called for each change, on a thread of the SDK's. */
    @Volatile var onChange: ((BelfryChange) -> Unit)? = null

    /** The UUID by which a back end can name this device; null until the server gave one, and until the file was read. */
    val device: String? get() = known?.device?.uuid

    /** How many events have not been counted yet. */
    val waitingEvents: Int get() = known?.events?.size ?: 0

    private val client = Client(server, transport)
    private val file = StateFile(folder)
    private val backoff = Backoff(random)
    private val keeper = worker("belfry-state")
    private val sender = worker("belfry-network")
    private val lock = Any()
    @Volatile private var known: State? = null
    private lateinit var loadedKeys: MessageKeys
    private val keys: MessageKeys get() = load().let { loadedKeys }

    /** The exchange that has not begun yet. It will do everything, so one is enough. */
    private var waiting: CompletableFuture<Unit>? = null

    // MARK: Registration

    /** Registers this device as given, or brings it up to date. Without a change nothing is sent. It begins once there is an address. */
    fun register(registration: Registration): CompletableFuture<Unit> = changing { it.copy(wish = registration) }

    /** Subscribes to topics and ends other subscriptions, and leaves the rest of the registration as it is. */
    fun changeTopics(adding: Set<String> = emptySet(), removing: Set<String> = emptySet()): CompletableFuture<Unit> = changing { state ->
        val wish = state.wish ?: throw BelfryError.Unregistered()
        val gone = removing.map { lowered(it) }
        state.copy(wish = wish.copy(topics = wish.topics.filter { lowered(it) !in gone }.toSet() + adding))
    }

    /** Says where the provider reaches this device. An address on another platform moves the device there. */
    fun setAddress(address: Address): CompletableFuture<Unit> = changing { it.copy(address = address) }

    /** Says that the provider has given another address, unless the app was moved to another platform meanwhile. */
    fun renewAddress(address: Address): CompletableFuture<Unit> = changing {
        if (it.address == null || it.address.platform == address.platform) it.copy(address = address) else it
    }

    /** Ends the registration: no push reaches this device. */
    fun unregister(): CompletableFuture<Unit> = changing { it.copy(wish = null) }

    /** Does what is still to do: call it when the app starts. */
    fun resume(): CompletableFuture<Unit> = synchronized(sender) {
        waiting ?: sender.future {
            synchronized(sender) { waiting = null }
            exchange()
        // One that found no place is done already, and never runs.
        }.also { if (!it.isDone) waiting = it }
    }

    /** What senders encrypt messages for this device with: for an app whose back end does not ask Belfry for it. */
    fun encryptionKeys(): CompletableFuture<EncryptionKeys> = keeper.future { keys.run { EncryptionKeys(p256dh, authText) } }

    // MARK: Pushes

    /**
     * Notes that a push arrived, and reads it. It is counted within minutes, once however often it comes.
     *
     * @param data of FCM's message.
     * @param tag of its notification, or its collapse key.
     * @return what to show; null for a push that came before. A full disk hides none.
     */
    fun received(data: Map<String, String>, tag: String? = null): CompletableFuture<PushMessage?> =
        keeper.future { note(PushMessage.ofData(data, tag, stored { keys })) }

    /** The same for a message that came through a distributor of UnifiedPush, which has decrypted it. */
    fun receivedWebPush(content: ByteArray): CompletableFuture<PushMessage?> =
        keeper.future { note(PushMessage.ofWebPush(content, stored { keys })) }

    /** Notes that the user opened a push. */
    fun opened(receipt: String): CompletableFuture<Unit> = changing { it.noting(event(Event.Kind.opened, receipt, it)) }

    /** Notes that the user removed a push without opening it. */
    fun dismissed(receipt: String): CompletableFuture<Unit> = keeper.future {
        change { it.noting(event(Event.Kind.dismissed, receipt, it)) }
        retry(backoff.spread(reportsWithin))
    }

    private fun note(message: PushMessage): PushMessage? {
        val receipt = message.receipt ?: return message
        val isNew = stored { change { it.seeing(receipt, if (message.retracts == null) event(Event.Kind.received, receipt, it) else null) } }
        if (isNew == false) return null
        if (message.retracts == null) retry(backoff.spread(reportsWithin))
        onChange?.invoke(BelfryChange.Received(message))
        return message
    }

    /** null where the disk, or the phone's own key, cannot be used now. */
    private fun <Value> stored(work: () -> Value): Value? = try {
        work()
    } catch (error: BelfryError.Storage) {
        onChange?.invoke(BelfryChange.Failed(error))
        null
    }

    private fun event(kind: Event.Kind, receipt: String, state: State) = Event(kind, receipt, clock(), state.device?.uuid)

    // MARK: Asking the server

    /**
     * Asks for an endpoint of this device; one for each account of the app.
     *
     * @param vapidPublicKey binds it to the one application server that has this key, 65 bytes in Base64 for URLs.
     * @param isFetched keeps its messages at the server until [fetch] asks for them, where no provider reaches the device.
     */
    fun makeEndpoint(vapidPublicKey: String? = null, isFetched: Boolean = false): CompletableFuture<WebPushEndpoint> = asking { device ->
        val answer = client.makeEndpoint(device, vapidPublicKey, isFetched)
        val id = answer.text("endpoint_id") ?: throw BelfryError.Unreadable("no endpoint_id")
        val url = answer.text("endpoint") ?: throw BelfryError.Unreadable("no endpoint")
        WebPushEndpoint(id, url, keys.p256dh, keys.authText)
    }

    /** Ends an endpoint: application servers are told that it is gone. */
    fun endEndpoint(id: String): CompletableFuture<Unit> = asking { client.endEndpoint(it, id) }

    /**
     * Fetches the messages that wait at an endpoint, the oldest first.
     *
     * @param handle gets each, decrypted; null for one that other keys were used for. What it returns from is acknowledged, and does not come again.
     * @return how many there were.
     */
    fun fetch(endpoint: String, handle: (ByteArray?) -> Unit): CompletableFuture<Int> = asking { device ->
        val messages = client.endpointMessages(device, endpoint)
        for (message in messages) {
            handle(PushMessage.opened(
                message.text("webpush") ?: "", message.text("webpush_encoding"), message.text("webpush_encryption"),
                message.text("webpush_crypto_key"), keys))
            message.text("message_id")?.let { client.acknowledge(device, endpoint, it) }
        }
        messages.size
    }

    /** Asks for the latest pushes to this device, newest first, without those that have expired. */
    fun latestMessages(limit: Int = 20): CompletableFuture<List<ServerMessage>> = asking { device ->
        client.messages(device, limit.coerceIn(1, 20)).mapNotNull { found ->
            val payload = found.member("payload") ?: return@mapNotNull null
            val receipt = found.text("receipt_id") ?: return@mapNotNull null
            val isOfWeb = payload.has("notification") || payload.has("body")
            val message =
                if (isOfWeb) PushMessage.ofWebPush(payload.toString().toByteArray(), keys)
                else PushMessage.ofData(payload.texts(), null, keys)
            ServerMessage(found.number("accepted_at") ?: 0, found.number("expires_at"), message.copy(receipt = receipt))
        }
    }

    private fun <Value> asking(request: (Device) -> Value): CompletableFuture<Value> =
        sender.future { request(load().device ?: throw BelfryError.Unregistered()) }

    // MARK: Exchange

    private fun exchange() {
        val held = heldUntil() - clock()
        if (held in 1..Backoff.longest) throw BelfryError.Busy(held / 1_000 + 1)
        try {
            // A registration that the server refuses keeps no event from being counted.
            val refusal = unlessRefused { registerAsWanted() }
            sendEvents()
            if (refusal != null) throw refusal
            backoff.reset()
        } catch (error: BelfryError) {
            onChange?.invoke(BelfryChange.Failed(error))
            if (error.isTemporary) {
                val after = backoff.next((error as? BelfryError.Busy)?.retryAfterSeconds)
                if (error is BelfryError.Busy) stored { change { it.copy(heldUntil = clock() + after) } }
                retry(after)
            }
            throw error
        }
    }

    /** The time until which the server wants to be left alone. Of a disk that cannot be used the exchange tells. */
    private fun heldUntil(): Long = try {
        load().heldUntil
    } catch (error: BelfryError.Storage) {
        0
    }

    /** Finds a device, ends one, registers one, ends the one before: what is to do. A change that comes meanwhile has an exchange of its own. */
    private fun registerAsWanted() {
        val facts = facts()
        repeat(4) { if (!registerOnce(facts)) return }
    }

    /** Does one thing that is to do; false where there is none. */
    private fun registerOnce(facts: DeviceFacts): Boolean {
        val state = load()
        val wanted = state.wish?.let { wish -> state.address?.let { Request.of(it, wish, facts, keys) } }
        val (device, sent, left) = Triple(state.device, state.sent, state.left)
        // An unanswered request may have made a device, whose UUID is learned before the request is forgotten.
        if (sent != null && !sent.isOf(device) && (wanted?.platform != sent.platform || wanted.token != sent.token)) {
            if (unlessRefused { confirm(device, sent) } != null) change { it.copy(sent = null) }
            return true
        }
        // Servers count events of devices that they know.
        if (device != null && (state.wish == null || wanted?.isOf(device) == false)) unlessRefused { sendEvents() }
        if (device != null && state.wish == null) {
            client.delete(device)
            change { it.copy(device = null, confirmed = null, sent = null) }
            onChange?.invoke(BelfryChange.Unregistered)
            return true
        }
        val isFresh = clock() - state.confirmedAt in 0 until confirmationAgeMax
        if (wanted != null && (wanted != state.confirmed || sent != null || !isFresh)) {
            onChange?.invoke(BelfryChange.Registered(confirm(device, wanted)))
            return true
        }
        if (left == null) return false
        try {
            client.delete(left)
        } catch (error: BelfryError.Unauthorized) {
            // A platform that is gone has no devices.
        }
        change { it.copy(left = null) }
        return true
    }

    /** Registers, by the UUID of the device so far: with it the server finds the device on another platform of the application, too. */
    private fun confirm(device: Device?, wanted: Request): String {
        val earlier = load().sent
        change { it.copy(sent = wanted) }
        val uuid = try {
            client.register(device?.uuid, wanted)
        } catch (error: BelfryError.Refused) {
            // A user that was confirmed, and whose signature counts no more, stays what the server has: unless it may have another by now.
            val isConfirmed = wanted.user == load().confirmed?.user && (earlier == null || earlier.user == wanted.user)
            if (device == null || !error.reason.startsWith("custom_user_id") || !isConfirmed) throw error
            client.register(device.uuid, wanted.withoutUser())
        }
        change { state ->
            state.copy(
                device = Device(uuid, wanted.platform), confirmed = wanted, confirmedAt = clock(), sent = null,
                left = (device?.takeUnless { wanted.isOf(it) } ?: state.left)?.takeUnless { wanted.isOf(it) })
        }
        return uuid
    }

    /** Does what the server may refuse for good, and returns the refusal. */
    private fun unlessRefused(request: () -> Unit): BelfryError? = try {
        request()
        null
    } catch (error: BelfryError) {
        if (error.isTemporary) throw error
        error
    }

    private fun sendEvents() {
        while (true) {
            val state = load()
            val device = state.device ?: return
            if (state.events.isEmpty()) return
            if (state.events.take(Event.perRequestMax).any { !it.isFixed }) {
                val now = client.serverTime(device.platform) ?: clock()
                change { fixing(it, device, now) }
            }
            val batch = load().events.take(Event.perRequestMax)
            try {
                client.report(batch, device.platform)
            } catch (error: BelfryError.Refused) {
                // The same batch would be refused for ever. Other refusals are of something before the server.
                if (error.status != 400 && error.status != 413) throw error
            }
            change { it.copy(events = it.events.drop(batch.size)) }
        }
    }

    /** Gives the next events their last form. A clock that was wrong must not lose them: their times are put where the server counts them. */
    private fun fixing(state: State, device: Device, now: Long): State = state.copy(events = state.events.mapIndexed { place, event ->
        if (event.isFixed || place >= Event.perRequestMax) event
        else event.copy(time = event.time.coerceIn(now - Event.lateMax, now), device = event.device ?: device.uuid, isFixed = true)
    })

    // MARK: Keeping

    private fun changing(edit: (State) -> State): CompletableFuture<Unit> =
        keeper.future { change(edit) }.thenCompose { resume() }

    /** Returns whether there was a change, which is on the disk then. */
    private fun change(edit: (State) -> State): Boolean = synchronized(lock) {
        val before = load()
        val after = edit(before)
        if (after != before) {
            file.write(after)
            known = after
        }
        after != before
    }

    /** Reads the file, once. A phone that cannot open its keys was restored from another's backup: it is a device of its own. */
    private fun load(): State = known ?: synchronized(lock) {
        known ?: run {
            val found = file.read()
            val own = found?.keys?.fromBase64()?.let { seal.open(it) }?.let { MessageKeys.of(it) }
            loadedKeys = own ?: MessageKeys.make()
            val state =
                if (found != null && own != null) found.at(server)
                else State(seal.seal(loadedKeys.bytes()).inBase64(), wish = found?.wish, server = server).also { file.write(it) }
            known = state
            state
        }
    }

    private companion object {
        /** Far more than an app asks for at once. */
        const val callsMax = 1_000
        const val reportsWithin = 600_000L
        /** The age, in milliseconds, from which a confirmed registration is sent again: a day. Servers take a device for seen when it registers. */
        const val confirmationAgeMax = 86_400_000L

        fun worker(name: String) = ThreadPoolExecutor(
            1, 1, 10, TimeUnit.SECONDS, ArrayBlockingQueue<Runnable>(callsMax),
            ThreadFactory { work -> Thread(work, name).apply { isDaemon = true } }
        ).apply { allowCoreThreadTimeOut(true) }

        fun lowered(text: String) = text.map { Character.toLowerCase(it) }.joinToString("")
    }
}

/** Runs on another thread. A call that finds too many before it fails at once. */
private fun <Value> Executor.future(work: () -> Value): CompletableFuture<Value> {
    val promise = CompletableFuture<Value>()
    try {
        execute {
            try {
                promise.complete(work())
            } catch (error: Throwable) {
                promise.completeExceptionally(error)
            }
        }
    } catch (error: RejectedExecutionException) {
        promise.completeExceptionally(BelfryError.Overloaded())
    }
    return promise
}
