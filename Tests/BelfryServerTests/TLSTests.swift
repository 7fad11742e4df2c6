import BelfryService
import BelfryTesting
import Foundation
import Logging
import NIOSSL
import Testing

@testable import BelfryServer

/// The listeners over TLS, with certificates that change under them.
extension ServerTests {
    @Suite struct TLSTests {}
}

extension ServerTests.TLSTests {
    private static let get = "GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Runs `body` against a server whose certificate is the first of two pairs.
    private static func open(
        mayLogErrors: Bool = false, _ body: @escaping @Sendable (TestServer, Safe) async throws -> Void
    ) async throws {
        try await Scratch.with { scratch in
            let openSSL = OpenSSL(scratch: scratch)
            let safe = Safe(
                scratch: scratch, first: try await openSSL.pair("first"), second: try await openSSL.pair("second"))
            try safe.put(safe.first)
            try await TestServer.open(
                mayLogErrors: mayLogErrors,
                configure: { configuration in
                    configuration.http.tls = safe.files
                    configuration.certificatePause = .milliseconds(50)
                }
            ) { server in try await body(server, safe) }
        }
    }

    /// Certificates, and the files that the server reads them from.
    private struct Safe: Sendable {
        typealias Pair = (certificate: String, key: String)
        let scratch: Scratch
        let first: Pair
        let second: Pair

        var files: TLSFiles { TLSFiles(certificate: scratch.file("door.pem"), key: scratch.file("listener.key")) }

        /// The key first: in between the server sees a pair that does not belong together, and keeps the old one.
        func put(_ pair: Pair) throws {
            for (from, to) in [(pair.key, files.key), (pair.certificate, files.certificate)] {
                try Data(contentsOf: URL(filePath: from)).write(to: URL(filePath: to), options: .atomic)
            }
        }
    }

    private static func trust(_ pair: Safe.Pair) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(pair.certificate))
        return configuration
    }

    /// The answer on a new connection to a caller that trusts the certificate alone; empty when the handshake fails.
    private static func say(_ request: String, to server: TestServer, trusting pair: Safe.Pair) async throws -> String {
        let connection = try await RawConnection.open(to: server.addresses.http, tls: try trust(pair))
        try? await connection.send(request)
        try await eventually("it is answered or closed") { !connection.received.isEmpty || connection.isClosed }
        await connection.close()
        return connection.received
    }

    @Test func `a changed certificate serves new connections, old ones continue`() async throws {
        try await Self.open(mayLogErrors: true) { server, safe in
            #expect(server.addresses.http.hasPrefix("https://"))
            let old = try await RawConnection.open(to: server.addresses.http, tls: try Self.trust(safe.first))
            try await old.send(Self.get)
            try await eventually("it is served") { old.received.hasPrefix("HTTP/1.1 200 ") }
            #expect(old.received.lowercased().contains("strict-transport-security: max-age="), "\(old.received)")
            #expect(try await Self.say(Self.get, to: server, trusting: safe.second).isEmpty)

            try safe.put(safe.second)
            try await eventually("the new certificate is shown") {
                try await Self.say(Self.get, to: server, trusting: safe.second).hasPrefix("HTTP/1.1 200 ")
            }
            #expect(try await Self.say(Self.get, to: server, trusting: safe.first).isEmpty)
            try await old.send(Self.get)
            try await eventually("the old connection is served") {
                old.received.split(separator: "HTTP/1.1 200 ").count == 2
            }
            await old.close()
        }
    }

    @Test func `an unusable pair keeps the old one and is reported`() async throws {
        try await Self.open(mayLogErrors: true) { server, safe in
            let words = "the certificate files of a listener cannot be used"
            try safe.put((certificate: safe.second.certificate, key: safe.first.key))
            try await eventually("a mismatch is reported") { server.hasLogged(words) }
            #expect(try await Self.say(Self.get, to: server, trusting: safe.first).hasPrefix("HTTP/1.1 200 "))
            let expired = try await OpenSSL(scratch: safe.scratch).pair("expired", days: -1)
            try safe.put(expired)
            try await eventually("the end of its time is reported") {
                server.log.lines(atLeast: .error).contains { $0.contains("the certificate expired on 2021-01-01") }
            }
            #expect(try await Self.say(Self.get, to: server, trusting: safe.first).hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `a refused pair is tried again without a change`() async throws {
        try await Scratch.with { scratch in
            let openSSL = OpenSSL(scratch: scratch)
            let safe = Safe(
                scratch: scratch, first: try await openSSL.pair("first"), second: try await openSSL.pair("second"))
            try safe.put(safe.first)
            let (log, clock) = (CapturedLog(), ManualClock())
            var logger = log.logger
            logger.logLevel = .info
            // The clock stands years before both pairs: a start takes one, a change does not.
            let certificate = try Certificate(
                listener: "http", files: safe.files, clock: clock, pause: .seconds(5), obeysSignals: false,
                logger: logger)
            try safe.put(safe.second)
            for _ in 0..<3 { certificate.reloadIfChanged() }
            #expect(log.lines(atLeast: .info).count == 2, "at the start, and once for the new pair")
            clock.advance(to: SystemClock().now + .seconds(60))
            for _ in 0..<3 { certificate.reloadIfChanged() }
            let lines = log.lines(atLeast: .info)
            #expect(lines.count == 3 && lines[2].hasPrefix("a new certificate is in use"), "\(lines)")
        }
    }

    @Test func `a plain HTTP caller on the TLS port is told`() async throws {
        try await Self.open { server, _ in
            let said = try await RawConnection.exchange(Array(Self.get.utf8), with: server.addresses.http)
            #expect(said.hasPrefix("HTTP/1.1 400 "))
            #expect(said.contains("This port speaks HTTPS"))
        }
    }

    @Test func `a version of TLS before 1.2 is refused`() async throws {
        try await Self.open { server, safe in
            var old = try Self.trust(safe.first)
            old.minimumTLSVersion = .tlsv1
            old.maximumTLSVersion = .tlsv11
            #expect(
                try await RawConnection.exchange(Array(Self.get.utf8), with: server.addresses.http, tls: old).isEmpty)
        }
    }

    @Test func `an operator may set the highest version`() async throws {
        try await Scratch.with { scratch in
            let pair = try await OpenSSL(scratch: scratch).pair("pinned")
            try await TestServer.open(configure: {
                $0.http.tls = TLSFiles(certificate: pair.certificate, key: pair.key, versionMax: .tls12)
            }) { server in
                var newest = try Self.trust(pair)
                newest.minimumTLSVersion = .tlsv13
                #expect(
                    try await RawConnection.exchange(Array(Self.get.utf8), with: server.addresses.http, tls: newest)
                        .isEmpty)
                #expect(try await Self.say(Self.get, to: server, trusting: pair).hasPrefix("HTTP/1.1 200 "))
            }
        }
        let flags = ["http.tls.certificate": "c.pem", "http.tls.key": "k.pem", "http.tls.version.max": "1.2"]
        #expect(try await ServerConfiguration.load(flags: flags, environment: [:]).http.tls?.versionMax == .tls12)
    }

    @Test func `the management listener has a certificate of its own`() async throws {
        try await Scratch.with { scratch in
            let pair = try await OpenSSL(scratch: scratch).pair("management")
            try await TestServer.open(configure: {
                $0.management.tls = TLSFiles(certificate: pair.certificate, key: pair.key)
            }) { server in
                #expect(server.addresses.management.hasPrefix("https://"))
                #expect(server.addresses.http.hasPrefix("http://"))
                let connection = try await RawConnection.open(
                    to: server.addresses.management, tls: try Self.trust(pair))
                try await connection.send("GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try await eventually("it is served") { connection.received.hasPrefix("HTTP/1.1 200 ") }
                await connection.close()
            }
        }
    }

    @Test func `check finds certificate faults before the start`() async throws {
        try await Scratch.with { scratch in
            let openSSL = OpenSSL(scratch: scratch)
            let (good, other) = (try await openSSL.pair("good"), try await openSSL.pair("other"))
            let expired = try await openSSL.pair("expired", days: -1)
            let junk = try scratch.write("junk", to: "junk")
            let cases: [(String?, String?, String?)] = [
                (good.certificate, good.key, nil), (good.certificate, nil, "go together"),
                (good.certificate, other.key, "does not belong to the certificate"),
                (expired.certificate, expired.key, "the certificate expired on 2021-01-01"),
                (scratch.file("none"), good.key, "is missing"),
                (junk, good.key, "cannot be used: there is no PEM in it"),
                (good.certificate, junk, "cannot be used: there is no PEM in it"),
            ]
            for (certificate, key, words) in cases {
                var environment = ["BELFRY_DATA_DIRECTORY": scratch.file("data")]
                environment["BELFRY_HTTP_TLS_CERTIFICATE"] = certificate
                environment["BELFRY_HTTP_TLS_KEY"] = key
                let ended = try await Program.run(["check"], environment, in: scratch)
                #expect(ended.status == (words == nil ? 0 : 1), "\(ended.err)")
                if let words { #expect(ended.err.contains("http.tls") && ended.err.contains(words), "\(ended.err)") }
            }
        }
    }
}
