package org.belfry

import java.util.concurrent.CountDownLatch
import org.belfry.ScriptedServer.Answer
import org.belfry.ScriptedServer.Companion.device
import org.junit.After
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNotEquals
import org.junit.Assert.assertNull
import org.junit.Assert.assertTrue
import org.junit.Test

class RegistrationTests {
    private val server = ScriptedServer()
    private val phone = Phone(server.url)
    private val google = Platform("aaaaaaaa-0000-4000-8000-000000000000", "s1")
    private val web = Platform("bbbbbbbb-0000-4000-8000-000000000000", "s2")
    private val news = Registration(topics = setOf("news"))

    @After fun close() = server.close()

    private fun register(wish: Registration = news, token: String = "token-1") {
        phone.belfry.setAddress(Address(google, token)).answer()
        phone.belfry.register(wish).answer()
    }

    @Test fun `a registration has all that the app says`() {
        register(Registration(setOf("sport", "news"), "emma", "Emma's", mapOf("plan" to "gold", "age" to "7")))
        val asked = server.asked.single()
        assertEquals("POST /v1/registration", asked.toString())
        assertEquals(google.uuid, asked.platform)
        val body = asked.body!!
        for ((name, value) in mapOf(
            "registration_token" to "token-1", "os" to "android", "os_version" to "16", "device_model" to "Pixel 9", "tags" to "[\"news\",\"sport\"]",
            "custom_user_id" to "emma", "device_alias" to "Emma's", "language" to "de-CH", "time_zone" to "Europe/Zurich", "country" to "CH",
            "attributes" to "{\"age\":\"7\",\"plan\":\"gold\"}"
        )) assertEquals(name, value, body.text(name))
        val keys = body.getJSONObject("encryption_keys")
        assertEquals(65, keys.getString("p256dh").fromBase64()!!.size)
        assertEquals(16, keys.getString("auth").fromBase64()!!.size)
        assertEquals(device, phone.belfry.device)
        assertEquals(listOf(BelfryChange.Registered(device)), phone.changes)
    }

    @Test fun `a repeated call sends nothing, also after a restart`() {
        register()
        server.take()
        register()
        phone.restart()
        register(Registration(setOf("news")))
        phone.belfry.resume().answer()
        assertEquals(emptyList<String>(), server.take())
        assertEquals(device, phone.belfry.device)
    }

    @Test fun `each change updates the device`() {
        register()
        server.take()
        phone.belfry.changeTopics(adding = setOf("Sport"), removing = setOf("NEWS")).answer()
        assertEquals("[\"Sport\"]", server.asked.last().body!!.text("tags"))
        register(Registration(setOf("Sport")), "token-2")
        assertEquals("token-2", server.asked.last().body!!.text("registration_token"))
        phone.facts = phone.facts.copy(language = "fr-CH")
        phone.belfry.resume().answer()
        assertEquals("fr-CH", server.asked.last().body!!.text("language"))
        assertEquals(List(3) { "PUT /v1/registration/$device" }, server.take())
    }

    @Test fun `nothing is sent before there is a token`() {
        phone.belfry.register(news).answer()
        assertEquals(emptyList<String>(), server.take())
        phone.belfry.setAddress(Address(google, "token-1")).answer()
        assertEquals(listOf("POST /v1/registration"), server.take())
    }

    @Test fun `an ended registration is deleted, and comes back`() {
        register()
        phone.belfry.unregister().answer()
        assertNull(phone.belfry.device)
        phone.belfry.unregister().answer()
        register()
        assertEquals(listOf("POST /v1/registration", "DELETE /v1/registration/$device", "POST /v1/registration"), server.take())
    }

    @Test fun `an unreachable server is tried again over restarts`() {
        phone.server = "http://127.0.0.1:1"
        phone.restart()
        failure<BelfryError.Unreachable> { register() }
        assertTrue(phone.retries.single() in 5_000..10_000)
        assertTrue((phone.changes.single() as BelfryChange.Failed).error.isTemporary)
        phone.server = server.url
        phone.restart()
        phone.belfry.resume().answer()
        assertEquals(listOf("POST /v1/registration"), server.take())
        assertEquals(device, phone.belfry.device)
    }

    @Test fun `waits grow, by chance, and end at an hour`() {
        server.script = { Answer(503) }
        failure<BelfryError.Busy> { register() }
        for (attempt in 1..14) {
            phone.now += Backoff.longest
            failure<BelfryError.Busy> { phone.belfry.resume().answer() }
        }
        assertEquals(15, phone.retries.size)
        phone.retries.forEachIndexed { attempt, wait ->
            val most = minOf(Backoff.longest, 10_000L shl attempt)
            assertTrue("$attempt: $wait", wait in most / 2..most)
        }
        assertEquals(15, phone.retries.toSet().size)
    }

    @Test fun `a server that asks to wait is left alone`() {
        server.script = { Answer(429, "", mapOf("Retry-After" to "120")) }
        failure<BelfryError.Busy> { register() }
        assertTrue(phone.retries.single() in 120_000..130_000)
        server.script = { null }
        repeat(3) {
            failure<BelfryError.Busy> { phone.belfry.resume().answer() }
            phone.restart()
        }
        assertEquals(1, server.take().size)
        phone.now += 130_001
        phone.belfry.resume().answer()
        assertEquals(device, phone.belfry.device)
    }

    @Test fun `a clock set back holds nothing up`() {
        server.script = { Answer(503) }
        failure<BelfryError.Busy> { register() }
        server.script = { null }
        phone.now -= 365L * 86_400_000
        phone.belfry.resume().answer()
        assertEquals(device, phone.belfry.device)
    }

    @Test fun `a refusal is told and not repeated by itself`() {
        server.script = { Answer(400, "{\"message\":\"tags: too many\"}") }
        val error = failure<BelfryError.Refused> { register() }
        assertEquals("tags: too many", error.reason)
        assertFalse(error.isTemporary)
        server.script = { Answer(401, "{\"message\":\"no such platform\"}") }
        failure<BelfryError.Unauthorized> { phone.belfry.resume().answer() }
        assertEquals(emptyList<Long>(), phone.retries)
    }

    @Test fun `a lost answer is asked for again`() {
        server.script = { Answer(200, "no JSON") }
        failure<BelfryError.Unreadable> { register() }
        server.script = { null }
        phone.restart()
        phone.belfry.resume().answer()
        assertEquals(2, server.take().size)
        assertEquals(device, phone.belfry.device)
    }

    @Test fun `a device of a lost answer is found, then deleted`() {
        server.script = { Answer(200, "no JSON") }
        failure<BelfryError.Unreadable> { register() }
        server.script = { null }
        server.take()
        phone.belfry.unregister().answer()
        assertEquals(listOf("POST /v1/registration", "DELETE /v1/registration/$device"), server.take())
    }

    @Test fun `a proxy without its server ends nothing`() {
        register()
        for (answer in listOf(Answer(404, "<html>"), Answer(302), Answer(403), Answer(401), Answer(200, "<html>"))) {
            server.script = { answer }
            phone.now += Backoff.longest
            if (answer.status == 200) failure<BelfryError.Unreadable> { register(Registration(topics = setOf("sport"))) }
            else failure<BelfryError.Unreadable> { phone.belfry.unregister().answer() }
            assertEquals(device, phone.belfry.device)
        }
        assertEquals(5, phone.retries.size)
    }

    @Test fun `a refused end is none`() {
        register()
        for (status in listOf(401, 403, 404)) {
            server.script = { if (it.method == "DELETE") Answer(status, "{\"message\":\"no route\"}") else null }
            failure<BelfryError> { phone.belfry.unregister().answer() }
            assertEquals(device, phone.belfry.device)
        }
        server.script = { null }
        phone.belfry.resume().answer()
        assertNull(phone.belfry.device)
    }

    @Test fun `a refused end of the old platform is asked for again`() {
        register()
        server.script = { if (it.method == "DELETE") Answer(403, "{\"message\":\"no route\"}") else null }
        failure<BelfryError.Refused> { phone.belfry.setAddress(Address(web, "token-2")).answer() }
        server.take()
        failure<BelfryError.Refused> { phone.belfry.setAddress(Address(web, "token-3")).answer() }
        assertEquals(listOf("PUT /v1/registration/$device", "DELETE /v1/registration/$device"), server.take())
        server.script = { null }
        phone.belfry.resume().answer()
        assertEquals(listOf("DELETE /v1/registration/$device"), server.take())
    }

    @Test fun `a user stays when the shared secret is replaced`() {
        val wish = news.copy(user = "signed")
        register(wish)
        server.script = { asked ->
            if (asked.body?.text("custom_user_id") in listOf("signed", "other")) Answer(400, "{\"message\":\"custom_user_id is signed otherwise\"}")
            else null
        }
        register(wish, "token-2")
        val body = server.asked.last().body!!
        assertEquals("token-2", body.text("registration_token"))
        assertFalse(body.has("custom_user_id"))
        server.take()
        register(wish, "token-2")
        assertEquals(emptyList<String>(), server.take())
        failure<BelfryError.Refused> { register(wish.copy(user = "other"), "token-2") }
    }

    @Test fun `a device of an unanswered change is deleted once`() {
        register()
        server.script = { if (it.method == "PUT") Answer(200, "no JSON") else null }
        failure<BelfryError.Unreadable> { register(Registration()) }
        server.take()
        phone.belfry.unregister().answer()
        phone.belfry.resume().answer()
        assertEquals(listOf("DELETE /v1/registration/$device"), server.take())
    }

    @Test fun `another platform takes the device over`() {
        register()
        phone.belfry.opened(device).answer()
        server.take()
        phone.belfry.setAddress(Address.ofWebPush(web, "https://up.example/1", "BKEY", "AUTH")).answer()
        val asked = server.asked.toList()
        assertEquals(listOf("PUT /v1/registration/$device", "DELETE /v1/registration/$device"), server.take())
        assertEquals(listOf(web.uuid, google.uuid), asked.map { it.platform })
        assertEquals(
            "{\"endpoint\":\"https://up.example/1\",\"keys\":{\"p256dh\":\"BKEY\",\"auth\":\"AUTH\"}}",
            asked.first().body!!.getString("registration_token").replace("\\/", "/"))
    }

    @Test fun `the old platform keeps the device until the new one answers`() {
        register()
        server.take()
        server.script = { if (it.platform == web.uuid) Answer(503) else null }
        failure<BelfryError.Busy> { phone.belfry.setAddress(Address(web, "token-2")).answer() }
        assertEquals(listOf("PUT /v1/registration/$device"), server.take())
        server.script = { if (it.method == "DELETE") Answer(503) else null }
        phone.now += Backoff.longest
        failure<BelfryError.Busy> { phone.belfry.resume().answer() }
        assertEquals(listOf("PUT /v1/registration/$device", "DELETE /v1/registration/$device"), server.take())
        server.script = { null }
        phone.now += Backoff.longest
        phone.restart()
        phone.belfry.resume().answer()
        assertEquals(google.uuid, server.asked.single().platform)
        assertEquals(listOf("DELETE /v1/registration/$device"), server.take())
    }

    @Test fun `a device returns before the other platform has answered`() {
        register()
        server.take()
        server.script = { if (it.platform == web.uuid) Answer(200, "no JSON") else null }
        failure<BelfryError.Unreadable> { phone.belfry.setAddress(Address(web, "token-2")).answer() }
        server.script = { null }
        register()
        val moves = server.asked.map { it.method + " " + it.platform }
        assertEquals(listOf("PUT ${web.uuid}", "PUT ${web.uuid}", "PUT ${google.uuid}", "DELETE ${web.uuid}"), moves)
    }

    @Test fun `another secret of a platform moves nothing`() {
        register()
        server.take()
        phone.belfry.setAddress(Address(google.copy(secret = "s3"), "token-1")).answer()
        assertEquals(listOf("PUT /v1/registration/$device"), server.take())
    }

    @Test fun `another server gets the registration`() {
        register()
        server.take()
        ScriptedServer().use { other ->
            phone.server = other.url
            phone.restart()
            repeat(2) { phone.belfry.resume().answer() }
            assertEquals(listOf("PUT /v1/registration/$device"), other.take())
        }
        assertEquals(emptyList<String>(), server.take())
    }

    @Test fun `a confirmed registration is sent again after a day`() {
        register()
        val begun = phone.now
        server.take()
        // A clock that is set back starts the day anew.
        for ((hours, count) in listOf(23 to 0, 24 to 1, 47 to 0, 48 to 1, 1 to 1)) {
            phone.now = begun + hours * 3_600_000L
            repeat(2) { phone.belfry.resume().answer() }
            assertEquals("after $hours hours", List(count) { "PUT /v1/registration/$device" }, server.take())
        }
    }

    @Test fun `a file of an earlier version is read`() {
        register()
        server.take()
        val file = phone.folder.resolve("belfry.json")
        val state = parsed(file.readText())!!
        for (name in listOf("confirmed_at", "left", "server", "held_until")) state.remove(name)
        file.writeText(state.toString())
        phone.restart()
        phone.belfry.resume().answer()
        assertEquals(listOf("PUT /v1/registration/$device"), server.take())
    }

    @Test fun `a new token of the other provider changes nothing`() {
        register()
        phone.belfry.setAddress(Address(web, "token-2")).answer()
        server.take()
        phone.belfry.renewAddress(Address(google, "token-3")).answer()
        assertEquals(emptyList<String>(), server.take())
        phone.belfry.renewAddress(Address(web, "token-4")).answer()
        assertEquals("token-4", server.asked.single().body!!.text("registration_token"))
    }

    @Test fun `a platform that is gone does not keep the device`() {
        register()
        server.script = { if (it.platform == google.uuid) Answer(401, "{\"message\":\"no such platform\"}") else null }
        phone.belfry.setAddress(Address(web, "token-2")).answer()
        assertEquals(device, phone.belfry.device)
    }

    @Test fun `a restored phone is a device of its own`() {
        register()
        val first = server.asked.single().body!!
        server.take()
        val copy = phone.restored()
        // It knows what the app wants, and waits for its own token.
        copy.belfry.resume().answer()
        assertEquals(emptyList<String>(), server.take())
        copy.belfry.setAddress(Address(google, "token-2")).answer()
        val second = server.asked.single()
        assertEquals("POST /v1/registration", second.toString())
        assertEquals("[\"news\"]", second.body!!.text("tags"))
        assertNotEquals(first.text("encryption_keys"), second.body.text("encryption_keys"))
    }

    @Test fun `a damaged file begins anew`() {
        register()
        for (text in listOf("", "{", "[]", "{\"keys\":7}", "{\"keys\":\"AA\",\"device\":{}}", "[".repeat(1_000_000))) {
            phone.folder.resolve("belfry.json").writeText(text)
            phone.restart()
            register()
            assertEquals(device, phone.belfry.device)
        }
    }

    @Test fun `no call waits for a server that hangs`() {
        server.gate = CountDownLatch(1)
        val begun = System.nanoTime()
        val calls = listOf(
            phone.belfry.setAddress(Address(google, "token-1")), phone.belfry.register(news), phone.belfry.opened(device),
            phone.belfry.dismissed(device), phone.belfry.resume(), phone.belfry.unregister(), phone.belfry.register(news))
        assertNull(phone.belfry.device)
        assertTrue(System.nanoTime() - begun < 10_000_000_000)
        // Pushes are read meanwhile.
        assertEquals("Hello", phone.belfry.received(mapOf("message" to "Hello", "receiptId" to device)).answer()?.body)
        server.gate!!.countDown()
        calls.forEach { it.answer() }
        assertEquals(device, phone.belfry.device)
    }

    @Test fun `a flood of calls costs a few requests`() {
        server.gate = CountDownLatch(1)
        phone.belfry.setAddress(Address(google, "token-1"))
        val calls = (1..900).map { phone.belfry.register(Registration(setOf("topic-$it"))) }
        while (!phone.folder.resolve("belfry.json").run { exists() && readText().contains("topic-900") }) Thread.sleep(5)
        server.gate!!.countDown()
        calls.forEach { it.answer() }
        assertTrue(server.asked.size <= 3)
        assertEquals("[\"topic-900\"]", server.asked.last().body!!.text("tags"))
    }

    @Test fun `calls that find no place fail at once`() {
        server.gate = CountDownLatch(1)
        phone.belfry.setAddress(Address(google, "token-1"))
        phone.belfry.register(news)
        while (server.asked.isEmpty()) Thread.sleep(5)
        val calls = (1..1_100).map { phone.belfry.latestMessages() }
        assertTrue(calls.count { it.isCompletedExceptionally } >= 99)
        failure<BelfryError.Overloaded> { phone.belfry.resume().answer() }
        server.gate!!.countDown()
        assertEquals(emptyList<ServerMessage>(), calls.first().answer())
        calls.last { !it.isCompletedExceptionally }.answer()
        phone.belfry.resume().answer()
    }
}
