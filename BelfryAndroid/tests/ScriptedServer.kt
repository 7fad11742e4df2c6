package org.belfry

import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpServer
import java.io.Closeable
import java.net.InetAddress
import java.net.InetSocketAddress
import java.util.Base64
import java.util.Collections
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executors
import org.json.JSONObject

/** A server on the loopback that keeps what it is asked, and answers as a test says. */
class ScriptedServer : Closeable {
    class Asked(val method: String, val path: String, val platform: String, val body: JSONObject?) {
        override fun toString() = "$method $path"
    }

    class Answer(val status: Int, val body: String = "", val headers: Map<String, String> = emptyMap())

    val asked: MutableList<Asked> = Collections.synchronizedList(ArrayList())
    /** Answers a request in place of the usual answer; null leaves it to that. */
    @Volatile var script: (Asked) -> Answer? = { null }
    /** Requests wait for it before they are answered. */
    @Volatile var gate: CountDownLatch? = null
    private val server = HttpServer.create(InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16)
    private val threads = Executors.newCachedThreadPool { Thread(it).apply { isDaemon = true } }

    init {
        server.createContext("/") { answer(it) }
        server.executor = threads
        server.start()
    }

    val url get() = "http://127.0.0.1:${server.address.port}"

    /** The words of all requests but those for the time, and forgets them. */
    fun take(): List<String> = synchronized(asked) {
        asked.filter { it.path != "/v1/version" }.map { it.toString() }.also { asked.clear() }
    }

    fun events(): List<JSONObject> = synchronized(asked) {
        asked.filter { it.path == "/v1/analytics" }.flatMap { it.body!!.getJSONArray("events").objects() }
    }

    private fun answer(exchange: HttpExchange) {
        val text = exchange.requestBody.readBytes()
        val credentials = String(Base64.getDecoder().decode(exchange.requestHeaders.getFirst("Authorization").removePrefix("Basic ")))
        val request = Asked(
            exchange.requestMethod, exchange.requestURI.toString(), credentials.substringBefore(':'),
            if (text.isEmpty()) null else JSONObject(String(text)))
        asked.add(request)
        gate?.await()
        val answer = script(request) ?: usual(request)
        for ((name, value) in answer.headers) exchange.responseHeaders.set(name, value)
        val body = answer.body.toByteArray()
        exchange.sendResponseHeaders(answer.status, if (body.isEmpty()) -1 else body.size.toLong())
        if (body.isNotEmpty()) exchange.responseBody.write(body)
        exchange.close()
    }

    private fun usual(request: Asked): Answer = when {
        request.method == "DELETE" -> Answer(204)
        request.path.startsWith("/v1/registration") -> Answer(200, "{\"device_uuid\":\"$device\"}")
        request.path == "/v1/version" -> Answer(200, "{\"version\":\"1.9.0\"}")
        else -> Answer(200, "{}")
    }

    override fun close() {
        gate?.countDown()
        server.stop(0)
        threads.shutdownNow()
    }

    companion object {
        const val device = "11111111-2222-4333-8444-555555555555"
    }
}
