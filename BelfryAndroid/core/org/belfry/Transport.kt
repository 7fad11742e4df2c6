package org.belfry

import java.io.ByteArrayOutputStream
import java.io.IOException
import java.io.InputStream
import java.net.HttpURLConnection
import java.net.URL
import java.text.ParsePosition
import java.text.SimpleDateFormat
import java.util.Locale
import java.util.TimeZone

/** Sends a request and returns its answer, or throws an IOException. It is never called on the main thread. */
interface Transport {
    fun send(method: String, url: String, authorization: String, body: String?): Answer

    class Answer(val status: Int, val body: String, val retryAfterSeconds: Long?, val serverTime: Long?)
}

/** Requests through the system's own client, which trusts what the system trusts; on Android the app's network security configuration pins. */
class HttpTransport(private val connectMilliseconds: Int = 15_000, private val readMilliseconds: Int = 30_000) : Transport {
    override fun send(method: String, url: String, authorization: String, body: String?): Transport.Answer {
        val connection = URL(url).openConnection() as HttpURLConnection
        var isDone = false
        try {
            connection.requestMethod = method
            connection.connectTimeout = connectMilliseconds
            connection.readTimeout = readMilliseconds
            // The API has none, and credentials are not for another host.
            connection.instanceFollowRedirects = false
            connection.useCaches = false
            connection.setRequestProperty("Authorization", authorization)
            if (body != null) {
                connection.doOutput = true
                connection.setRequestProperty("Content-Type", "application/json")
                connection.outputStream.use { it.write(body.toByteArray()) }
            }
            val status = connection.responseCode
            val stream = if (status < 400) connection.inputStream else connection.errorStream
            val text = stream?.use { read(it) } ?: ""
            isDone = true
            return Transport.Answer(
                status, text,
                connection.getHeaderField("Retry-After")?.trim()?.toLongOrNull(),
                connection.getHeaderField("Date")?.let { httpDate(it) })
        } finally {
            // One that was read to its end is used again.
            if (!isDone) connection.disconnect()
        }
    }

    /** A time-out counts from one read to the next, so a server that drips is left after a while of its own. */
    private fun read(stream: InputStream): String {
        val end = System.nanoTime() + 2L * readMilliseconds * 1_000_000
        val read = ByteArrayOutputStream()
        val buffer = ByteArray(8_192)
        while (true) {
            val count = stream.read(buffer)
            if (count < 0) return read.toString("UTF-8")
            read.write(buffer, 0, count)
            if (read.size() > answerBytesMax) throw IOException("the answer has more than $answerBytesMax bytes")
            if (System.nanoTime() - end > 0) throw IOException("the answer takes too long")
        }
    }

    private companion object {
        const val answerBytesMax = 1 shl 20

        /** Source: RFC 9110 §5.6.7. */
        fun httpDate(text: String): Long? {
            val format = SimpleDateFormat("EEE, dd MMM yyyy HH:mm:ss zzz", Locale.US)
            format.timeZone = TimeZone.getTimeZone("GMT")
            return format.parse(text, ParsePosition(0))?.time
        }
    }
}
