package org.belfry

import java.util.UUID
import org.belfry.ScriptedServer.Answer
import org.belfry.ScriptedServer.Companion.device
import org.junit.After
import org.junit.Assert.assertEquals
import org.junit.Assert.assertNotNull
import org.junit.Assert.assertNull
import org.junit.Assert.assertTrue
import org.junit.Test

class EventTests {
    private val server = ScriptedServer()
    private val phone = Phone(server.url)
    private val receipt = "5b0b8f40-4c55-4a39-a3d5-2a3b7f6b8c1d"

    @After fun close() = server.close()

    init {
        // The scripted server has the real time in its answers.
        phone.now = System.currentTimeMillis() - 60_000
        phone.belfry.setAddress(Address(Platform("aaaaaaaa-0000-4000-8000-000000000000", "s"), "token-1")).answer()
        phone.belfry.register(Registration()).answer()
        server.take()
    }

    private fun receive(receipt: String = this.receipt) = phone.belfry.received(mapOf("receiptId" to receipt, "message" to "Hi")).answer()

    @Test fun `events are reported in the words of PCF`() {
        assertNotNull(receive())
        assertEquals(emptyList<String>(), server.take())
        assertTrue(phone.retries.single() in 0..600_000)
        phone.belfry.opened(receipt).answer()
        phone.belfry.dismissed(receipt).answer()
        phone.belfry.resume().answer()
        val events = server.events()
        assertEquals(
            listOf("received", "opened", "dismissed").map { "pcf_push_event_type_push_notification_$it" },
            events.map { it.getString("eventType") })
        for (event in events) {
            assertEquals(receipt, event.getString("receiptId"))
            assertEquals(device, event.getString("deviceUuid"))
            assertEquals(phone.now.toString(), event.getString("eventTime"))
        }
    }

    @Test fun `a push that comes twice is shown and counted once`() {
        assertNotNull(receive())
        phone.restart()
        assertNull(receive())
        phone.belfry.resume().answer()
        assertEquals(1, server.events().size)
    }

    @Test fun `events wait on the disk for the server`() {
        server.script = { Answer(503) }
        failure<BelfryError.Busy> { phone.belfry.opened(receipt).answer() }
        phone.restart()
        phone.now += Backoff.longest
        server.script = { null }
        server.asked.clear()
        phone.belfry.resume().answer()
        assertEquals(1, server.events().size)
        phone.belfry.resume().answer()
        assertEquals(1, server.events().size)
    }

    @Test fun `a repeated report has the same words`() {
        server.script = { if (it.path == "/v1/analytics") Answer(503) else null }
        failure<BelfryError.Busy> { phone.belfry.opened(receipt).answer() }
        phone.now += 4_000_000
        server.script = { null }
        phone.belfry.resume().answer()
        val (first, second) = server.events().map { it.toString() }
        assertEquals(first, second)
    }

    @Test fun `a thousand events are kept, sent by the hundred`() {
        server.script = { Answer(503) }
        repeat(1_010) { receive(UUID.randomUUID().toString()) }
        assertTrue(phone.folder.resolve("belfry.json").length() < 250_000)
        server.script = { null }
        phone.now += 4_000_000
        phone.belfry.resume().answer()
        assertEquals(1_000, server.events().map { it.getString("receiptId") }.toSet().size)
        assertEquals(10, server.take().size)
    }

    @Test fun `a wrong clock loses no event`() {
        val right = phone.now
        for (wrong in listOf(0L, right + 400L * 86_400_000)) {
            phone.now = wrong
            phone.belfry.opened(UUID.randomUUID().toString()).answer()
            assertTrue(server.events().last().getString("eventTime").toLong() in right - Event.lateMax..right + 120_000)
        }
    }

    @Test fun `a refused registration keeps no event from being counted`() {
        server.script = { if (it.path.startsWith("/v1/registration")) Answer(400, "{\"message\":\"attributes: no\"}") else null }
        failure<BelfryError.Refused> { phone.belfry.register(Registration(topics = setOf("news"))).answer() }
        failure<BelfryError.Refused> { phone.belfry.opened(receipt).answer() }
        assertEquals(1, server.events().size)
        assertEquals(0, phone.belfry.waitingEvents)
    }

    @Test fun `texts that are no receipts are not kept`() {
        for (text in listOf("", "7", "a".repeat(1_000_000), "../../../../../../../../../../../../x")) phone.belfry.opened(text).answer()
        assertEquals(0, phone.belfry.waitingEvents)
        assertEquals(emptyList<String>(), server.take())
    }

    @Test fun `a full disk hides no push`() {
        phone.folder.deleteRecursively()
        phone.folder.writeText("a file in the place of the folder")
        assertEquals("Hi", receive()?.body)
        phone.restart()
        assertEquals("Hi", receive()?.body)
        assertTrue(phone.changes.last { it is BelfryChange.Failed }.toString().contains("Storage"))
        failure<BelfryError.Storage> { phone.belfry.opened(receipt).answer() }
    }

    @Test fun `a refused batch holds nothing up`() {
        for (status in listOf(400, 413)) {
            server.script = { if (it.path == "/v1/analytics") Answer(status, "{\"message\":\"too large\"}") else null }
            phone.belfry.opened(receipt).answer()
            assertEquals(0, phone.belfry.waitingEvents)
        }
    }

    @Test fun `a refusal before the server loses no event`() {
        for (status in listOf(403, 404)) {
            server.script = { if (it.path == "/v1/analytics") Answer(status, "{\"message\":\"no route\"}") else null }
            failure<BelfryError.Refused> { phone.belfry.opened(receipt).answer() }
        }
        assertEquals(2, phone.belfry.waitingEvents)
        server.script = { null }
        phone.belfry.resume().answer()
        assertEquals(0, phone.belfry.waitingEvents)
    }

    @Test fun `events before the registration are counted after it`() {
        val other = Phone(server.url)
        other.belfry.opened(receipt).answer()
        assertEquals(emptyList<String>(), server.take())
        other.belfry.register(Registration()).answer()
        other.belfry.setAddress(Address(Platform("aaaaaaaa-0000-4000-8000-000000000000", "s"), "token-2")).answer()
        assertEquals(listOf("POST /v1/registration", "POST /v1/analytics"), server.take())
    }
}
