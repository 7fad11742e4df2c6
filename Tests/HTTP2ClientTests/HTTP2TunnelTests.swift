import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import HTTP2Client
@testable import Tunnel

/// HTTP/2 through a proxy that is asked for a name and connects where it likes.
@Suite struct HTTP2TunnelTests {
    private static let identity = Result { try TestIdentity() }

    private func pool(_ host: String, through proxy: Proxy) throws -> HTTP2Pool {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates([try Self.identity.get().certificate])
        var configuration = HTTP2PoolConfiguration()
        configuration.connection.connectDeadline = .seconds(30)
        configuration.connection.tunnel = Tunnel(through: proxy)
        return try HTTP2Pool(
            endpoint: HTTP2Endpoint(host: host, port: 4_433, tls: tls), configuration: configuration,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, chance: { 0 })
    }

    private func batch() -> HTTP2Batch {
        var batch = HTTP2Batch(body: .shared([1]))
        batch.append(path: "/")
        return batch
    }

    private func fault(_ answers: HTTP2Answers) -> HTTP2Fault.Code? {
        if case .unprocessed(let fault)? = answers.first(where: { _ in true }) { fault.code } else { nil }
    }

    @Test func `the certificate must be the server's, not the proxy's`() async throws {
        let server = try await LoopbackServer(identity: Self.identity.get()) { session, _ in session.autoStatus = 200 }
        let proxy = try await MisbehavingProxy.start(leadingTo: server.port)
        let way = try Proxy(.http, host: "127.0.0.1", port: proxy.port)
        let right = try pool("localhost", through: way)
        let answers = await right.send(batch(), deadline: .seconds(60))
        #expect(answers.map { if case .response(let response) = $0 { response.status } else { 0 } } == [200])
        let wrong = try pool("push.example", through: way)
        let refused = await wrong.send(batch(), deadline: .seconds(60))
        #expect(fault(refused) == .tlsRefused, "\(wrong.snapshot)")
        #expect(proxy.asked.sorted() == ["localhost:4433", "push.example:4433"])
        await right.shutdown(within: .seconds(1))
        await wrong.shutdown(within: .seconds(1))
        try await proxy.stop()
        try await server.stop()
    }

    @Test func `a blocking proxy is named before the deadline`() async throws {
        let proxy = try await MisbehavingProxy.start(leadingTo: nil)
        let way = try Proxy(.http, host: "127.0.0.1", port: proxy.port)
        let pool = try pool("localhost", through: way)
        let answers = await pool.send(batch(), deadline: .seconds(3_600))
        #expect(fault(answers) == .proxy)
        #expect(proxy.asked == ["localhost:4433"])
        #expect(pool.snapshot.lastFailure?.code == .proxy)
        #expect(pool.snapshot.lastFailure?.reason == "the proxy \(way): it requires a user and a password (407)")
        await pool.shutdown(within: .seconds(1))
        try await proxy.stop()
    }
}
