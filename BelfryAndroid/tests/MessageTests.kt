package org.belfry

import java.util.Random
import org.belfry.ScriptedServer.Answer
import org.belfry.ScriptedServer.Companion.device
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNull
import org.junit.Assert.assertTrue
import org.junit.Test

class MessageTests {
    private val keys = MessageKeys.make()
    private val sender = Sender(keys.p256dh, keys.authText)

    private fun data(vararg data: Pair<String, String>, collapseKey: String? = null) = PushMessage.ofData(mapOf(*data), collapseKey, keys)

    private fun web(text: String) = PushMessage.ofWebPush(text.toByteArray(), keys)

    @Test fun `data of FCM is a message`() {
        val message = data(
            "receiptId" to "r1", "title" to "Dairy", "message" to "Fresh cheese", "link" to "shop://cheese", "image" to "https://shop.example/c.jpg",
            "channel" to "offers", "category" to "shop", "thread" to "t", "story" to "17")
        assertEquals(
            listOf("r1", "Dairy", "Fresh cheese", "shop://cheese", "https://shop.example/c.jpg", "offers", "shop", "t", "r1"),
            message.run { listOf(receipt, title, body, link, image, channel, category, thread, tag) })
        assertEquals("17", message.data["story"])
        assertTrue(message.isShown)
    }

    @Test fun `a tag is what updates and retractions name`() {
        assertEquals("key", data("receiptId" to "r1", "message" to "1", collapseKey = "key").tag)
        assertEquals("r0", data("receiptId" to "r1", "message" to "2", "belfry.replaces" to "r0", collapseKey = "key").tag)
        val retraction = data("receiptId" to "r2", "belfry.retract" to "r0")
        assertEquals("r0", retraction.retracts)
        assertFalse(retraction.isShown)
        assertEquals("r0", web("{\"belfry\":{\"retract\":\"r0\"},\"receiptId\":\"r2\"}").retracts)
    }

    @Test fun `data alone shows nothing`() = assertFalse(data("receiptId" to "r1", "order" to "17").isShown)

    @Test fun `a declarative message of the web is a message`() {
        val message = web(
            "{\"web_push\":8030,\"mutable\":true,\"receiptId\":\"r1\",\"notification\":{\"title\":\"Goal\",\"body\":\"2:1\",\"navigate\":\"https://e.example/7\"," +
                "\"tag\":\"game\",\"image\":\"https://e.example/i.png\",\"data\":{\"receiptId\":\"r1\",\"data\":{\"game\":7,\"flags\":[true]}}}}")
        assertEquals(
            listOf("r1", "Goal", "2:1", "https://e.example/7", "game", "https://e.example/i.png"),
            message.run { listOf(receipt, title, body, link, tag, image) })
        assertEquals(mapOf("game" to "7", "flags" to "[true]"), message.data)
        val bare = web("{\"body\":\"Hello\",\"receiptId\":\"r1\",\"data\":{\"a\":1}}")
        assertEquals(listOf("Hello", "r1", "r1", mapOf("a" to "1")), bare.run { listOf(body, receipt, tag, data) })
    }

    @Test fun `other words of the web are shown as they are`() {
        for (text in listOf("Hello", "[1]", "{", "[".repeat(100_000), "{\"a\":".repeat(100_000))) assertEquals(text, web(text).body)
    }

    @Test fun `an encrypted message is what its sender wrote`() {
        val sealed = sender.encrypt("{\"title\":\"Balance\",\"body\":\"12.50\",\"link\":\"bank://1\",\"data\":{\"account\":1}}".toByteArray()).inBase64()
        for (message in listOf(
            data("receiptId" to "r1", "encrypted" to sealed),
            web("{\"body\":\"New message\",\"encrypted\":\"$sealed\",\"receiptId\":\"r1\"}"))) {
            assertEquals(listOf("Balance", "12.50", "bank://1", "r1", "r1"), message.run { listOf(title, body, link, receipt, tag) })
            assertEquals(mapOf("account" to "1"), message.data)
        }
        assertEquals("Hi", data("receiptId" to "r1", "encrypted" to sender.encrypt("Hi".toByteArray()).inBase64()).body)
    }

    @Test fun `what cannot be decrypted is told without words`() {
        val other = Sender(MessageKeys.make().p256dh, keys.authText).encrypt("Hi".toByteArray()).inBase64()
        for (text in listOf(other, "", "%", "AAAA")) {
            val message = data("receiptId" to "r1", "encrypted" to text)
            assertTrue(message.isUnreadable && message.isShown)
            assertNull(message.body)
            assertEquals("r1", message.receipt)
            assertEquals("New message", data("encrypted" to text, "encrypted_alert" to "New message").body)
            assertEquals("Neue Nachricht", web("{\"encrypted\":\"$text\",\"body\":\"Neue Nachricht\"}").body)
        }
    }

    @Test fun `a push of an application server is decrypted`() {
        val sealed = sender.encrypt("Hi".toByteArray()).inBase64()
        val message = data("webpush" to sealed, "webpush_endpoint" to "3", "receiptId" to "r1")
        assertArrayEquals("Hi".toByteArray(), message.webPush)
        assertEquals("3", message.endpoint)
        assertFalse(message.isShown)
        val (older, encryption, cryptoKey) = sender.encryptOlder("Hi".toByteArray())
        assertArrayEquals("Hi".toByteArray(), data(
            "webpush" to older.inBase64(), "webpush_encoding" to "aesgcm", "webpush_encryption" to encryption, "webpush_crypto_key" to cryptoKey).webPush)
        assertTrue(data("webpush" to "AAAA", "webpush_encoding" to "aesgcm").isUnreadable)
    }

    @Test fun `garbage is read without an error`() {
        val random = Random(1)
        val sealed = sender.encrypt("{\"title\":\"T\",\"data\":{\"a\":1}}".toByteArray()).inBase64()
        val declared = "{\"web_push\":8030,\"notification\":{\"title\":\"Goal\",\"data\":{\"data\":{\"game\":7}}},\"encrypted\":null,\"belfry\":{\"retract\":[1]}}"
        val words = listOf("{", "}", "[", "]", ":", ",", "null", "\"", "1e999", "-", "\\u0000", "\\ud800", "notification", "data", "receiptId", sealed)
        repeat(5_000) {
            val text = StringBuilder(declared)
            repeat(1 + random.nextInt(4)) {
                val place = random.nextInt(text.length)
                if (random.nextBoolean()) text.insert(place, words[random.nextInt(words.size)]) else text.setLength(maxOf(1, place))
            }
            web(text.toString())
            data("encrypted" to text.toString(), "webpush_encoding" to "aesgcm", "webpush_crypto_key" to text.toString())
            val bytes = ByteArray(random.nextInt(200)).also { random.nextBytes(it) }
            PushMessage.ofWebPush(bytes, keys)
            assertNull(keys.decrypt(bytes))
        }
    }

    @Test fun `endpoints are made, fetched from and ended`() {
        ScriptedServer().use { server ->
            val phone = Phone(server.url)
            failure<BelfryError.Unregistered> { phone.belfry.makeEndpoint().answer() }
            phone.belfry.setAddress(Address(Platform("p", "s"), "token-1")).answer()
            phone.belfry.register(Registration()).answer()
            server.take()
            server.script = { asked ->
                if (asked.method == "POST") Answer(201, "{\"endpoint_id\":3,\"endpoint\":\"https://push.example.org/wp/m3kq\"}") else null
            }
            val made = phone.belfry.makeEndpoint("BVAPID", isFetched = true).answer()
            assertEquals("3", made.id)
            assertEquals("{\"vapid_public_key\":\"BVAPID\",\"delivery\":\"fetch\"}", server.asked.last().body.toString())
            val sealed = Sender(made.p256dh, made.auth).encrypt("Hi".toByteArray()).inBase64()
            server.script = { asked ->
                if (asked.method == "GET") Answer(200, "{\"messages\":[{\"message_id\":\"m1\",\"webpush\":\"$sealed\"},{\"message_id\":\"m2\",\"webpush\":\"AA\"}]}")
                else null
            }
            val fetched = ArrayList<String?>()
            assertEquals(2, phone.belfry.fetch("3") { fetched.add(it?.let { text -> String(text) }) }.answer())
            assertEquals(listOf("Hi", null), fetched)
            // What was not handled comes again.
            failure<IllegalStateException> { phone.belfry.fetch("3") { error("the disk is full") }.answer() }
            phone.belfry.endEndpoint("3").answer()
            val root = "/v1/registration/$device/endpoints"
            assertEquals(
                listOf(
                    "POST $root", "GET $root/3/messages", "DELETE $root/3/messages/m1", "DELETE $root/3/messages/m2", "GET $root/3/messages",
                    "DELETE $root/3"),
                server.take())
        }
    }

    @Test fun `the latest messages are asked for`() {
        ScriptedServer().use { server ->
            val phone = Phone(server.url)
            phone.belfry.setAddress(Address(Platform("p", "s"), "token-1")).answer()
            phone.belfry.register(Registration()).answer()
            server.script = {
                Answer(200, "{\"messages\":[{\"receipt_id\":\"r1\",\"accepted_at\":5,\"expires_at\":null,\"payload\":{\"message\":\"Hi\",\"title\":\"T\"}}]}")
            }
            val found = phone.belfry.latestMessages(5).answer().single()
            assertEquals(listOf(5L, null, "r1", "Hi", "T"), found.run { listOf(acceptedAt, expiresAt, message.receipt, message.body, message.title) })
            assertEquals("GET /v1/registration/$device/messages?limit=5", server.asked.last().toString())
        }
    }
}
