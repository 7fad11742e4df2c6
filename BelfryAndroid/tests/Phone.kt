package org.belfry

import java.io.File
import java.io.IOException
import java.nio.file.Files
import java.util.Collections
import java.util.Random
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit
import javax.crypto.Cipher
import javax.crypto.KeyGenerator
import javax.crypto.spec.GCMParameterSpec

/** A phone whose app can end and start again, with a clock that tests move. */
class Phone(var server: String, folder: File = Files.createTempDirectory("belfry-phone").toFile()) {
    var folder = folder
        private set
    val retries: MutableList<Long> = Collections.synchronizedList(ArrayList())
    val changes: MutableList<BelfryChange> = Collections.synchronizedList(ArrayList())
    @Volatile var now = 1_700_000_000_000L
    @Volatile var facts = DeviceFacts(systemVersion = "16", model = "Pixel 9", language = "de-CH", timeZone = "Europe/Zurich", country = "CH")
    private val seal = PhoneSeal()
    private var line = Line()
    var belfry = start()
        private set

    /** Ends the app, in the middle of whatever it does, and starts it again with what is on the disk. */
    fun restart() {
        line.isCut = true
        val left = folder
        if (left.isDirectory) {
            folder = Files.createTempDirectory("belfry-phone").toFile()
            left.resolve("belfry.json").let { if (it.exists()) it.copyTo(folder.resolve("belfry.json")) }
        }
        line = Line()
        belfry = start()
    }

    private fun start() = Belfry(server, folder, seal, { retries.add(it) }, line, facts = { facts }, random = Random(7), clock = { now })
        .also { made -> made.onChange = { changes.add(it) } }

    private class Line : Transport {
        private val line = HttpTransport()
        @Volatile var isCut = false

        override fun send(method: String, url: String, authorization: String, body: String?): Transport.Answer {
            if (isCut) throw IOException("the app has ended")
            return line.send(method, url, authorization, body)
        }
    }

    /** A copy of the file, and nothing of the hardware. */
    fun restored(): Phone = Phone(server, Files.createTempDirectory("belfry-phone").toFile().also { folder.copyRecursively(it) })
}

/** A key of one phone, as its hardware has it. */
class PhoneSeal : Seal {
    private val key = KeyGenerator.getInstance("AES").apply { init(256) }.generateKey()

    override fun seal(secret: ByteArray): ByteArray {
        val cipher = Cipher.getInstance("AES/GCM/NoPadding")
        cipher.init(Cipher.ENCRYPT_MODE, key)
        return cipher.iv + cipher.doFinal(secret)
    }

    override fun open(sealed: ByteArray): ByteArray? = try {
        val cipher = Cipher.getInstance("AES/GCM/NoPadding")
        cipher.init(Cipher.DECRYPT_MODE, key, GCMParameterSpec(128, sealed, 0, 12))
        cipher.doFinal(sealed, 12, sealed.size - 12)
    } catch (error: java.security.GeneralSecurityException) {
        null
    }
}

/** Waits for what a call returns, or throws its error. */
fun <Value> CompletableFuture<Value>.answer(): Value = try {
    get(60, TimeUnit.SECONDS)
} catch (error: ExecutionException) {
    throw error.cause ?: error
}

inline fun <reified Error : Throwable> failure(work: () -> Unit): Error {
    try {
        work()
    } catch (error: Throwable) {
        return error as? Error ?: throw error
    }
    throw AssertionError("it does not fail")
}
