package org.belfry

import com.sun.net.httpserver.HttpsConfigurator
import com.sun.net.httpserver.HttpsServer
import java.io.Closeable
import java.io.File
import java.net.InetAddress
import java.net.InetSocketAddress
import java.security.KeyStore
import java.util.Base64
import java.util.concurrent.LinkedBlockingQueue
import javax.net.ssl.KeyManagerFactory
import javax.net.ssl.SSLContext

/** The server of a distributor of UnifiedPush, on the loopback with a certificate of its own. */
class Distributor(folder: File) : Closeable {
    class Posted(val path: String, val headers: Map<String, String>, val body: ByteArray)

    val posted = LinkedBlockingQueue<Posted>()
    val certificate: String
    private val server = HttpsServer.create(InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16)

    init {
        val file = File(folder, "distributor.p12")
        val made = ProcessBuilder(
            System.getProperty("java.home") + "/bin/keytool", "-genkeypair", "-alias", "own", "-keyalg", "EC", "-groupname", "secp256r1", "-dname",
            "CN=localhost", "-ext", "san=dns:localhost", "-ext", "bc:c=ca:true", "-keystore", file.path, "-storepass", password
        ).redirectErrorStream(true).start()
        check(made.waitFor() == 0) { String(made.inputStream.readBytes()) }
        val store = KeyStore.getInstance("PKCS12")
        file.inputStream().use { store.load(it, password.toCharArray()) }
        certificate = "-----BEGIN CERTIFICATE-----\n" + Base64.getMimeEncoder().encodeToString(store.getCertificate("own").encoded) +
            "\n-----END CERTIFICATE-----\n"
        val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm()).apply { init(store, password.toCharArray()) }
        server.httpsConfigurator = HttpsConfigurator(SSLContext.getInstance("TLS").apply { init(keys.keyManagers, null, null) })
        server.createContext("/") { exchange ->
            posted.add(Posted(
                exchange.requestURI.path, exchange.requestHeaders.map { it.key.toLowerCase() to it.value.first() }.toMap(), exchange.requestBody.readBytes()))
            exchange.sendResponseHeaders(201, -1)
            exchange.close()
        }
        server.start()
    }

    val url get() = "https://localhost:${server.address.port}/"

    override fun close() = server.stop(0)

    private companion object {
        const val password = "changeit"
    }
}
