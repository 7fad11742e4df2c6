package org.belfry

import java.io.File
import java.net.URI
import java.net.URLEncoder
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.nio.file.Files
import java.time.Duration
import java.util.UUID
import java.util.concurrent.TimeUnit
import org.json.JSONObject
import org.junit.AfterClass
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNotNull
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.BeforeClass
import org.junit.Test

/** The core against the program that `KOTLIN_BELFRY` names, with a simulated FCM. */
class RealServerTests {
    private val token = "phone-" + UUID.randomUUID()
    private val phone = Phone(server.url).also { it.now = System.currentTimeMillis() }
    private val topic = "t-" + UUID.randomUUID()

    private fun register(platform: Platform = server.data) {
        phone.belfry.setAddress(Address(platform, token)).answer()
        phone.belfry.register(Registration(setOf(topic), "emma", "Emma's phone", mapOf("plan" to "gold"))).answer()
    }

    private fun device() = server.admin("GET", "apps/${server.app}/devices/${phone.belfry.device}")

    private fun push(message: JSONObject): String =
        server.admin("POST", "apps/${server.app}/pushes", json("message" to message, "target" to json("topics" to array(listOf(topic))))).getString("receipt_id")

    @Test fun `a device is registered, changed and ended`() {
        register()
        val made = device()
        for ((name, value) in mapOf(
            "topics" to "[\"$topic\"]", "custom_user_id" to "emma", "device_alias" to "Emma's phone", "language" to "de-CH",
            "time_zone" to "Europe/Zurich", "country" to "CH", "attributes" to "{\"plan\":\"gold\"}", "active" to "true"
        )) assertEquals(name, value, made.text(name))
        phone.belfry.changeTopics(adding = setOf("B-$topic"), removing = setOf(topic)).answer()
        assertEquals("[\"b-$topic\"]", device().text("topics"))
        phone.restart()
        phone.belfry.resume().answer()
        val uuid = phone.belfry.device
        phone.belfry.unregister().answer()
        assertEquals("false", server.admin("GET", "apps/${server.app}/devices/$uuid").text("active"))
        register()
        assertEquals(uuid, phone.belfry.device)
        assertEquals("true", device().text("active"))
    }

    @Test fun `a push arrives, is opened, and is counted once`() {
        register()
        val receipt = push(json("title" to "Dairy", "body" to "Fresh cheese", "link" to "shop://cheese", "data" to json("story" to 17)))
        val data = server.arrived(token) { it.text("receiptId") == receipt }
        val message = phone.belfry.received(data.texts()).answer()!!
        assertEquals(
            listOf(receipt, "Dairy", "Fresh cheese", "shop://cheese", "17"), message.run { listOf(this.receipt, title, body, link, this.data["story"]) })
        phone.belfry.opened(receipt).answer()
        phone.belfry.resume().answer()
        server.wait { server.counts(receipt).run { text("received") == "1" && text("opened") == "1" } }
        assertEquals(receipt, phone.belfry.latestMessages().answer().first().message.receipt)
        assertEquals("Fresh cheese", phone.belfry.latestMessages().answer().first().message.body)
    }

    @Test fun `an encrypted message passes through the server unread`() {
        register()
        val keys = phone.belfry.encryptionKeys().answer()
        val text = Sender(keys.p256dh, keys.auth).encrypt("{\"title\":\"Balance\",\"body\":\"12 €\",\"data\":{\"account\":1}}".toByteArray()).inBase64()
        val body = json("message" to json("encrypted" to json(phone.belfry.device!! to text)), "target" to json("devices" to array(listOf(phone.belfry.device!!))))
        val receipt = try {
            server.admin("POST", "apps/${server.app}/pushes", body).getString("receipt_id")
        } catch (error: IllegalStateException) {
            assumeTrue("the server is older than encrypted messages", error.message?.contains("'message.encrypted' is not a field") != true)
            throw error
        }
        assertEquals(keys.p256dh, device().getJSONObject("encryption_keys").getString("p256dh"))
        val message = phone.belfry.received(server.arrived(token) { it.text("receiptId") == receipt }.texts()).answer()!!
        assertEquals(listOf("Balance", "12 €", "1"), message.run { listOf(title, this.body, data["account"]) })
    }

    @Test fun `a retraction names the notification`() {
        register(server.notices)
        val receipt = push(json("title" to "Goal", "body" to "1:0"))
        server.arrived(token) { it.text("receiptId") == receipt }
        server.admin("POST", "pushes/$receipt/retract", json())
        val data = server.arrived(token) { it.has("belfry.retract") }
        val message = phone.belfry.received(data.texts()).answer()!!
        assertEquals(receipt, message.retracts)
        assertFalse(message.isShown)
    }

    @Test fun `an application server pushes through an endpoint`() {
        register()
        val endpoint = phone.belfry.makeEndpoint().answer()
        server.post(endpoint.url, Sender(endpoint.p256dh, endpoint.auth).encrypt("Hello".toByteArray()))
        val data = server.arrived(token) { it.has("webpush") }
        val message = phone.belfry.received(data.texts()).answer()!!
        assertEquals("Hello", message.webPush?.let { String(it) })
        assertEquals(endpoint.id, message.endpoint)
    }

    @Test fun `messages are fetched without a provider`() {
        register()
        val endpoint = phone.belfry.makeEndpoint(isFetched = true).answer()
        for (text in listOf("one", "two")) server.post(endpoint.url, Sender(endpoint.p256dh, endpoint.auth).encrypt(text.toByteArray()))
        val found = ArrayList<String?>()
        server.wait {
            phone.belfry.fetch(endpoint.id) { found.add(it?.let { text -> String(text) }) }.answer()
            found.size >= 2
        }
        assertEquals(listOf("one", "two"), found)
        assertEquals(0, phone.belfry.fetch(endpoint.id) {}.answer())
        phone.belfry.endEndpoint(endpoint.id).answer()
        failure<BelfryError.Refused> { phone.belfry.fetch(endpoint.id) {}.answer() }
    }

    @Test fun `a distributor of UnifiedPush takes the device over`() {
        register()
        val first = phone.belfry.device
        // The keys that the connector makes, and decrypts with.
        val keys = MessageKeys.make()
        val place = UUID.randomUUID().toString()
        phone.belfry.setAddress(Address.ofWebPush(server.web, server.distributor.url + place, keys.p256dh, keys.authText)).answer()
        assertEquals("[\"$topic\"]", device().text("topics"))
        assertEquals("true", device().text("active"))
        assertEquals("false", server.admin("GET", "apps/${server.app}/devices/$first").text("active"))
        val receipt = push(json("title" to "Dairy", "body" to "Fresh cheese", "link" to "https://shop.example/", "data" to json("story" to 17)))
        val posted = checkNotNull(server.distributor.posted.poll(60, TimeUnit.SECONDS)) { "nothing is posted" }
        assertEquals("/$place", posted.path)
        assertEquals("aes128gcm", posted.headers["content-encoding"])
        assertTrue(posted.headers.getValue("authorization").startsWith("vapid "))
        val message = phone.belfry.receivedWebPush(keys.decrypt(posted.body)!!).answer()!!
        assertEquals(
            listOf(receipt, "Dairy", "Fresh cheese", "https://shop.example/", "17"),
            message.run { listOf(this.receipt, title, body, link, this.data["story"]) })
    }

    @Test fun `wrong credentials are told`() {
        phone.belfry.setAddress(Address(server.data.copy(secret = "wrong"), token)).answer()
        failure<BelfryError.Unauthorized> { phone.belfry.register(Registration()).answer() }
    }

    companion object {
        private lateinit var server: RealServer

        @BeforeClass @JvmStatic fun start() {
            val binary = System.getenv("KOTLIN_BELFRY")
            assumeTrue("KOTLIN_BELFRY names no program", binary != null)
            server = RealServer(binary)
        }

        @AfterClass @JvmStatic fun stop() {
            if (::server.isInitialized) server.stop()
        }
    }
}

/** The real program on a free port, a simulated FCM, and what its operator asks. */
class RealServer(private val binary: String) {
    private val folder = Files.createTempDirectory("belfry-kotlin").toFile()
    private val programs = ArrayList<Process>()
    private val client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()
    val url: String
    private val control: String
    val distributor: Distributor
    private val key: String
    val app: String
    /** FCM gets data alone, so that the app sees each push; and notifications with data. */
    val data: Platform
    val notices: Platform
    val web: Platform

    init {
        Runtime.getRuntime().addShutdownHook(Thread { stop() })
        url = start("serve", Regex("address=(http://\\S+)"), "serve")
        control = "http://127.0.0.1:" + start(
            "fcm", Regex("control-port (\\d+)(?s:.)*project-id"), "simulate", "fcm", "--control-port", "0", "--keep-payloads",
            "--ca-out", path("ca.pem"), "--credentials-out", path("account.json"))
        distributor = Distributor(folder)
        key = File(path("data/admin.key")).readText().trim()
        app = admin("POST", "apps", json("name" to "Walks")).getString("app_uuid")
        admin("PATCH", "apps/$app", json("web_push_endpoints" to "on"))
        val endpoint = Regex("endpoint (\\S+)").find(File(path("fcm.log")).readText())!!.groupValues[1]
        val google = json(
            "service_account" to File(path("account.json")).readText(), "endpoint" to endpoint, "trust_root" to File(path("ca.pem")).readText())
        data = platform("android", google)
        notices = platform("android-fcm", google)
        web = platform("web", json("trust_root" to distributor.certificate))
    }

    private fun path(name: String) = File(folder, name).path

    private fun platform(kind: String, credentials: JSONObject): Platform {
        val made = admin("POST", "apps/$app/platforms", json("type" to kind, "mode" to "production", "name" to kind, "credentials" to credentials))
        return Platform(made.getString("platform_uuid"), made.getString("platform_secret"))
    }

    /** Starts the program and waits for what it says when it serves. */
    private fun start(name: String, words: Regex, vararg arguments: String): String {
        val log = File(path("$name.log"))
        val builder = ProcessBuilder(binary, *arguments).redirectErrorStream(true).redirectOutput(log)
        builder.environment().putAll(mapOf(
            "BELFRY_DATA_DIRECTORY" to path("data"), "BELFRY_HTTP_PORT" to "0", "BELFRY_MANAGEMENT_PORT" to "0",
            "BELFRY_PROVIDERS_ADDRESSES_ALLOW" to "127.0.0.1,::1", "BELFRY_PCF_VERIFY_CUSTOM_USER_ID" to "false"))
        val program = builder.start()
        programs.add(program)
        var found: String? = null
        wait {
            found = words.find(log.readText())?.groupValues?.get(1)
            check(program.isAlive) { log.readText() }
            found != null
        }
        return found!!
    }

    fun admin(method: String, path: String, body: JSONObject? = null): JSONObject =
        JSONObject(http(method, "$url/admin/v1/$path", body?.toString()?.toByteArray(), mapOf("Authorization" to "Bearer $key")).ifEmpty { "{}" })

    /** The reports of apps on a push. */
    fun counts(receipt: String): JSONObject =
        admin("GET", "pushes/$receipt/analytics").optJSONArray("platforms").objects().firstOrNull()?.member("counts") ?: json()

    /** Posts as an application server does. */
    fun post(endpoint: String, message: ByteArray) {
        http("POST", endpoint, message, mapOf("TTL" to "60", "Content-Encoding" to "aes128gcm", "Urgency" to "high"))
    }

    /** Waits for the last message to a token at the simulated FCM, and returns its data. */
    fun arrived(token: String, isExpected: (JSONObject) -> Boolean): JSONObject {
        var data: JSONObject? = null
        wait {
            val told = try {
                JSONObject(http("GET", "$control/ledger/tokens/" + URLEncoder.encode(token, "UTF-8"), null, emptyMap()))
            } catch (error: IllegalStateException) {
                null
            }
            data = told?.member("lastRequest")?.text("payload")?.let { parsed(it) }?.getJSONObject("message")?.member("data")
            data?.let(isExpected) == true
        }
        return data!!
    }

    fun wait(isDone: () -> Boolean) {
        val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60)
        while (!isDone()) {
            check(System.nanoTime() < end) { "it takes too long" }
            Thread.sleep(50)
        }
    }

    private fun http(method: String, url: String, body: ByteArray?, headers: Map<String, String>): String {
        val publisher = if (body == null) BodyPublishers.noBody() else BodyPublishers.ofByteArray(body)
        val request = HttpRequest.newBuilder(URI(url)).timeout(Duration.ofSeconds(60)).method(method, publisher)
        for ((name, value) in headers) request.header(name, value)
        val answer = client.send(request.build(), BodyHandlers.ofString())
        check(answer.statusCode() < 400) { "$method $url: ${answer.statusCode()} ${answer.body()}" }
        return answer.body()
    }

    fun stop() {
        distributor.close()
        programs.forEach { it.destroy() }
        programs.forEach { it.waitFor(30, TimeUnit.SECONDS) }
        folder.deleteRecursively()
    }
}
