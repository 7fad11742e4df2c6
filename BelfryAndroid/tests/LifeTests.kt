package org.belfry

import java.util.Random
import java.util.UUID
import org.belfry.ScriptedServer.Answer
import org.junit.Assert.assertEquals
import org.junit.Test

/** Random lives of an app: whatever gets lost between, at the end the server has what the app wants, and each event once. */
class LifeTests {
    private class Known(val uuid: String, val platform: String, var token: String, var tags: String, var isActive: Boolean)

    /** A server as it ought to be, whose answers get lost. */
    private class Model(private val random: Random) {
        val devices = ArrayList<Known>()
        val events = ArrayList<String>()
        var losses = 0
        /** Whether the platforms are of one application, whose server knows the device of an app that has moved. */
        private val merges = random.nextBoolean()

        @Synchronized fun answer(asked: ScriptedServer.Asked): Answer {
            val chance = random.nextInt(100)
            if (chance < losses) return Answer(if (chance % 2 == 0) 503 else 429)
            val answer = take(asked)
            return if (chance < 2 * losses) Answer(502) else answer
        }

        private fun take(asked: ScriptedServer.Asked): Answer {
            val uuid = asked.path.substringAfter("/v1/registration/", "")
            when {
                asked.path == "/v1/version" -> return Answer(200, "{}")
                asked.path == "/v1/analytics" -> events.addAll(asked.body!!.getJSONArray("events").objects().map { it.toString() })
                asked.method == "DELETE" -> devices.filter { it.uuid == uuid && it.platform == asked.platform }.forEach { it.isActive = false }
                else -> {
                    val token = asked.platform + asked.body!!.text("registration_token")
                    val holder = devices.find { it.token == token }
                    val device = devices.find { it.uuid == uuid && it.platform == asked.platform } ?: holder
                        ?: Known(UUID.randomUUID().toString(), asked.platform, token, "", true).also { devices.add(it) }
                    // Source: RegistrationRules, the server's own.
                    holder?.let { it.token = ""; it.isActive = false }
                    if (merges && device.uuid != uuid) devices.filter { it.uuid == uuid }.forEach { it.isActive = false }
                    device.token = token
                    device.tags = asked.body.text("tags")!!
                    device.isActive = true
                    return Answer(200, "{\"device_uuid\":\"${device.uuid}\"}")
                }
            }
            return Answer(200, "{}")
        }
    }

    @Test fun `each life ends as the app wants`() {
        val first = System.getenv("KOTLIN_SEED")?.toLong() ?: System.nanoTime()
        val lives = if (System.getenv("KOTLIN_SEED") == null) 20 else 1
        for (seed in first until first + lives) {
            try {
                live(Random(seed))
            } catch (error: Throwable) {
                throw AssertionError("KOTLIN_SEED=$seed plays it again", error)
            }
        }
    }

    private fun live(random: Random) = ScriptedServer().use { server ->
        val model = Model(random)
        server.script = { model.answer(it) }
        val phone = Phone(server.url)
        phone.now = System.currentTimeMillis() - 3_600_000
        val platforms = listOf("a", "b").map { Platform(it, "s") }
        var wish: Registration? = null
        // Events that are on the disk, and those that an end of the app may have lost.
        val noted = HashSet<String>()
        val begun = HashSet<String>()
        repeat(40) {
            model.losses = listOf(0, 0, 15, 45)[random.nextInt(4)]
            val belfry = phone.belfry
            val receipt = UUID.randomUUID().toString()
            val call = when (random.nextInt(9)) {
                0, 1 -> belfry.register(Registration(setOf("t${random.nextInt(5)}")).also { wish = it })
                2 -> belfry.setAddress(Address(platforms[random.nextInt(2)], "token-${random.nextInt(3)}"))
                3 -> belfry.unregister().also { wish = null }
                4 -> belfry.resume().also { phone.now += Backoff.longest }
                5 -> null.also { phone.restart() }
                6 -> belfry.received(mapOf("receiptId" to receipt)).also { begun.add(receipt) }
                else -> belfry.opened(receipt).also { begun.add(receipt) }
            }?.handle { _, _ -> }
            // Some calls are not waited for.
            if (random.nextInt(3) > 0 && call != null) {
                call.answer()
                if (receipt in begun) noted.add(receipt)
            }
            phone.now += random.nextInt(60_000)
        }
        model.losses = 0
        phone.now += Backoff.longest
        phone.belfry.setAddress(Address(platforms[0], "token-9")).handle { _, _ -> }.answer()
        phone.now += Backoff.longest
        wish.let { if (it == null) phone.belfry.unregister() else phone.belfry.register(it) }.answer()
        val active = model.devices.filter { it.isActive }
        assertEquals(if (wish == null) 0 else 1, active.size)
        assertEquals(wish?.topics?.let { array(it).toString() }, active.find { it.token == "atoken-9" }?.tags)
        assertEquals(active.find { it.token == "atoken-9" }?.uuid, phone.belfry.device)
        if (wish == null) {
            phone.belfry.register(Registration()).answer()
            phone.belfry.resume().answer()
        }
        val counted = model.events.toSet().map { parsed(it)!!.getString("receiptId") }
        assertEquals("events that count twice", counted.toSet().size, counted.size)
        assertEquals("lost events", emptySet<String>(), noted - counted)
        assertEquals("events of nothing", emptySet<String>(), counted.toSet() - begun)
    }
}
