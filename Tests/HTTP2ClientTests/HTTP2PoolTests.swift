import CNghttp2
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import HTTP2Client

@Suite struct HTTP2PoolTests {
    private static let identity = Result { try TestIdentity() }

    private func endpoint(_ port: Int, name: String = "localhost", trusts: Bool = true) throws -> HTTP2Endpoint {
        var tls = TLSConfiguration.makeClientConfiguration()
        if trusts { tls.trustRoots = .certificates([try Self.identity.get().certificate]) }
        return HTTP2Endpoint(host: "127.0.0.1", port: port, serverName: name, tls: tls)
    }

    private func pool(
        _ endpoint: HTTP2Endpoint, _ configure: (inout HTTP2PoolConfiguration) -> Void = { _ in }
    ) throws -> HTTP2Pool {
        var configuration = HTTP2PoolConfiguration()
        configuration.connection.connectDeadline = .seconds(5)
        configure(&configuration)
        return try HTTP2Pool(
            endpoint: endpoint, configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, chance: { 0 })
    }

    private func batch(_ count: Int) -> HTTP2Batch {
        var batch = HTTP2Batch(body: .shared([1, 2, 3]))
        for number in 0..<count { batch.append(path: "/\(number)") }
        return batch
    }

    private func words(_ answers: HTTP2Answers) -> Set<String> {
        Set(
            answers.map { answer in
                switch answer {
                case .response(let response): "\(response.status)"
                case .unprocessed(let fault): "unprocessed \(fault.code.text)"
                case .unknown(let fault): "unknown \(fault.code.text)"
                }
            })
    }

    @Test func `batches sent at once are answered over TLS`() async throws {
        let server = try await LoopbackServer(identity: Self.identity.get()) { session, _ in session.autoStatus = 200 }
        let pool = try pool(endpoint(server.port))
        let answers = await withTaskGroup(of: HTTP2Answers.self) { group in
            for _ in 0..<20 { group.addTask { await pool.send(batch(250), deadline: .seconds(30)) } }
            return await group.reduce(into: [HTTP2Answers]()) { $0.append($1) }
        }
        #expect(answers.map(\.count) == Array(repeating: 250, count: 20))
        #expect(answers.allSatisfy { words($0) == ["200"] })
        await pool.shutdown(within: .seconds(5))
        #expect(words(await pool.send(batch(1), deadline: .seconds(1))) == ["unprocessed connection closing"])
        try await server.stop()
    }

    @Test func `requests left by GOAWAY are resent on another connection`() async throws {
        let server = try await LoopbackServer(identity: Self.identity.get(), streams: 50) { session, connection in
            session.autoStatus = 200
            if connection == 1, session.requests.count > 20 { session.goAway(last: 41) }
        }
        let pool = try pool(endpoint(server.port))
        let answers = await pool.send(batch(200), deadline: .seconds(30))
        #expect(answers.count == 200)
        #expect(words(answers) == ["200"])
        await pool.shutdown(within: .seconds(5))
        try await server.stop()
    }

    @Test func `a server refusing all requests is not asked for ever`() async throws {
        let server = try await LoopbackServer(identity: Self.identity.get()) { session, _ in
            for request in session.requests { session.reset(request.stream, NGHTTP2_REFUSED_STREAM) }
        }
        let pool = try pool(endpoint(server.port))
        #expect(words(await pool.send(batch(3), deadline: .seconds(30))) == ["unprocessed stream refused"])
        await pool.shutdown(within: .seconds(5))
        try await server.stop()
    }

    @Test func `without a listener the circuit opens and room ends`() async throws {
        // A port that the system gives to no process, unlike one that was closed a moment ago.
        let pool = try pool(endpoint(1)) {
            $0.backOffFirst = .seconds(3_600); $0.backOffLongest = .seconds(3_600)
        }
        #expect(
            words(await pool.send(batch(1), deadline: .seconds(30))) == ["unprocessed no connection could be opened"])
        #expect(pool.room == 0)
        #expect(pool.snapshot.lastFailure?.code == .unreachable)
        #expect(
            words(await pool.send(batch(1), deadline: .seconds(30))) == ["unprocessed waiting before the next connect"])
        await pool.shutdown(within: .seconds(1))
    }

    @Test(arguments: [("localhost", false), ("example.com", true)])
    func `an untrusted or misnamed server differs from network loss`(name: String, trusts: Bool)
        async throws
    {
        let server = try await LoopbackServer(identity: Self.identity.get()) { _, _ in }
        let pool = try pool(endpoint(server.port, name: name, trusts: trusts))
        #expect(words(await pool.send(batch(1), deadline: .seconds(30))) == ["unprocessed TLS credentials refused"])
        #expect(pool.snapshot.lastFailure?.code == .tlsRefused)
        await pool.shutdown(within: .seconds(1))
        try await server.stop()
    }

    @Test func `a server refusing our certificate differs from network loss`() async throws {
        let server = try await LoopbackServer(identity: Self.identity.get(), demandsCertificate: true) { _, _ in }
        let pool = try pool(endpoint(server.port))
        #expect(words(await pool.send(batch(1), deadline: .seconds(30))) == ["unprocessed TLS credentials refused"])
        await pool.shutdown(within: .seconds(1))
        try await server.stop()
    }

    @Test(arguments: ["", "HTTP/1.1 400 Bad Request\r\n\r\n"])
    func `a peer without TLS fails the connect by deadline`(greeting: String) async throws {
        let server = try await LoopbackServer(greeting: greeting)
        let pool = try pool(endpoint(server.port)) {
            $0.connection.connectDeadline = .milliseconds(200)
            // Longer than the batch waits: it is told of the first connect.
            $0.backOffFirst = .seconds(3_600); $0.backOffLongest = .seconds(3_600)
        }
        #expect(
            words(await pool.send(batch(1), deadline: .seconds(30))) == ["unprocessed no connection could be opened"])
        await pool.shutdown(within: .seconds(1))
        try await server.stop()
    }

    @Test func `shutting down answers what the server does not`() async throws {
        let server = try await LoopbackServer(identity: Self.identity.get()) { _, _ in }
        let pool = try pool(endpoint(server.port))
        async let answers = pool.send(batch(200), deadline: .seconds(600))
        while pool.snapshot.requestsOnConnections < 200 { await Task.yield() }
        await pool.shutdown(within: .milliseconds(10))
        #expect(words(await answers) == ["unknown connection closing", "unprocessed connection closing"])
        try await server.stop()
    }

    @Test func `a cancelled task is answered at once, connected or not`() async throws {
        let server = try await LoopbackServer(identity: Self.identity.get()) { _, _ in }
        let pool = try pool(endpoint(server.port))
        let waiting = Task { await pool.send(batch(2), deadline: .seconds(600)) }
        waiting.cancel()
        #expect(words(await waiting.value).isSubset(of: ["unknown cancelled", "unprocessed cancelled"]))
        let written = Task { await pool.send(batch(2), deadline: .seconds(600)) }
        while pool.snapshot.requestsOnConnections < 2 { await Task.yield() }
        written.cancel()
        #expect(words(await written.value) == ["unknown cancelled"])
        await pool.shutdown(within: .seconds(1))
        try await server.stop()
    }
}
