import HTTP2Client
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import Outbound

/// A batch in, its answers out, over keep-alive connections that NIO's server speaks with.
@Suite struct HTTP1PoolTests {
    private func batch(_ host: ScriptedHost, _ paths: [String], answerBytesMax: Int = 4_096) -> OutboundBatch {
        var batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: [HTTP2Header("x-a", "b")], varying: ["x-n"], body: .own, keptHeaders: ["retry-after"],
                answerBytesMax: answerBytesMax))
        for (number, path) in paths.enumerated() {
            batch.append(url: host.url + path, values: [number % 2 == 0 ? "\(number)" : ""], body: Array(path.utf8))
        }
        return batch
    }

    private func words(_ answers: [OutboundAnswer]) -> [String] {
        answers.map { answer in
            switch answer {
            case .response(let response): "\(response.status) \(String(decoding: response.body, as: UTF8.self))"
            case .unprocessed(let fault): "unprocessed: \(fault)"
            case .unknown(let fault): "unknown: \(fault)"
            }
        }
    }

    @Test func `a batch is answered in order over few reused connections`() async throws {
        try await ScriptedHost.run(configure: { $0.http1ConnectionsMax = 4 }) { request in
            ScriptedHost.Answer(status: request.path.hasSuffix("7") ? 410 : 201, body: request.body)
        } _: { host, outbound in
            let paths = (0..<500).map { "/\($0)" }
            for _ in 0..<2 {
                let answers = words(await outbound.post(batch(host, paths), within: .seconds(30)))
                #expect(answers == paths.map { "\($0.hasSuffix("7") ? 410 : 201) \($0)" })
            }
            #expect(host.connections.ever <= 4 && host.requests.count == 1_000)
            let seen = try #require(host.requests.first { $0.path == "/8" })
            #expect(seen.headers.first(name: "content-length") == "2" && seen.headers.first(name: "x-n") == "8")
            #expect(seen.headers["host"].count == 1)
            let other = try #require(host.requests.first { $0.path == "/9" })
            #expect(other.headers.first(name: "x-n") == nil && other.headers.first(name: "x-a") == "b")
        }
    }

    @Test func `a server closing after each answer gets fresh connections`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(headers: ["connection": "close"], closes: true)
        } _: { host, outbound in
            let answers = await outbound.post(batch(host, (0..<50).map { "/\($0)" }), within: .seconds(30))
            #expect(words(answers) == Array(repeating: "200 ", count: 50))
            #expect(host.connections.ever == 50)
        }
    }

    @Test func `a connection ending under a request makes one unknown`()
        async throws
    {
        try await ScriptedHost.run { request in
            ScriptedHost.Answer(breaksOff: request.path == "/3")
        } _: { host, outbound in
            let answers = await outbound.post(batch(host, (0..<20).map { "/\($0)" }), within: .seconds(30))
            #expect(words(answers).indices.filter { words(answers)[$0] != "200 " } == [3])
            #expect(words(answers)[3].hasPrefix("unknown"))
            #expect(host.requests.count == 20)
        }
    }

    @Test func `a silent host gets few requests, the rest unsent`()
        async throws
    {
        try await ScriptedHost.run(configure: { $0.http1ConnectionsMax = 2 }) { _ in
            ScriptedHost.Answer(isSilent: true)
        } _: { host, outbound in
            let answers = await outbound.post(
                batch(host, (0..<9).map { "/\($0)" }), silence: .seconds(3), within: .seconds(60))
            let unknown = answers.count { if case .unknown = $0 { true } else { false } }
            #expect(host.requests.count <= unknown && 1...2 ~= unknown)
            #expect(answers.count { $0 == .unprocessed(.notBegun) } == 9 - unknown)
        }
    }

    @Test func `a silent host is given up once without further connections`() async throws {
        // A host that never answered may have half of them.
        try await ScriptedHost.run(configure: { $0.connectionsMax = 4 }) { _ in
            ScriptedHost.Answer(isSilent: true)
        } _: { host, outbound in
            let answers = await outbound.post(
                batch(host, (0..<9).map { "/\($0)" }), silence: .milliseconds(300), within: .seconds(60))
            #expect(words(answers).count { $0.hasPrefix("unknown") } == 2)
            #expect(words(answers).count { $0.hasPrefix("unprocessed") } == 7)
        }
    }

    @Test func `one unanswered request delays no other of its batch`() async throws {
        try await ScriptedHost.run(configure: { $0.http1ConnectionsMax = 2 }) { request in
            ScriptedHost.Answer(isSilent: request.path == "/0")
        } _: { host, outbound in
            let answers = await outbound.post(
                batch(host, (0..<30).map { "/\($0)" }), silence: .seconds(5), within: .seconds(60))
            #expect(answers[0] == .late)
            #expect(words(Array(answers.dropFirst())) == Array(repeating: "200 ", count: 29))
        }
    }

    @Test func `an endless body yields its beginning and closes`() async throws {
        let long = String(repeating: "x", count: 100_000)
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(body: long)
        } _: { host, outbound in
            let answers = await outbound.post(batch(host, ["/a", "/b"], answerBytesMax: 10), within: .seconds(30))
            #expect(words(answers) == ["200 xxxxxxxxxx", "200 xxxxxxxxxx"])
        }
    }

    @Test func `an endlessly repeated header is kept within a bound`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(
                headers: HTTPHeaders((0..<100).map { _ in ("Retry-After", String(repeating: "9", count: 100)) }))
        } _: { host, outbound in
            guard case .response(let response)? = await outbound.post(batch(host, ["/"]), within: .seconds(30)).first
            else {
                Issue.record("there is no answer")
                return
            }
            #expect(1...10 ~= response.headers["retry-after"].count)
        }
    }

    @Test func `a value that breaks its header makes no request`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer()
        } _: { host, outbound in
            var batch = batch(host, [])
            batch.append(url: "\(host.url)/", values: ["1\r\nx-evil: 1"])
            #expect(await outbound.post(batch, within: .seconds(30)) == [.unprocessed(.badURL)])
            #expect(host.requests.isEmpty)
        }
    }

    @Test func `a batch whose task is cancelled is answered at once`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(isSilent: true)
        } _: { host, outbound in
            let requests = batch(host, ["/"])
            let answers = await withTaskGroup(of: [OutboundAnswer].self) { group in
                group.addTask { await outbound.post(requests, silence: .seconds(3_600), within: .seconds(3_600)) }
                group.cancelAll()
                return await group.next() ?? []
            }
            #expect(answers == [.late] || answers == [.unprocessed(.notBegun)])
        }
    }

    @Test func `an urgent batch goes before what waits`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let isQuickHere = Mutex(false)
        try await ScriptedHost.run(configure: { $0.http1ConnectionsMax = 1 }) { request in
            open.yield()
            // Until it is here the others are slow, so that many of them still wait when it comes.
            let isSlow = isQuickHere.withLock { isHere in
                isHere = isHere || request.path == "/quick"
                return !isHere
            }
            return ScriptedHost.Answer(delay: isSlow ? .milliseconds(50) : .zero)
        } _: { host, outbound in
            let (slow, quick) = (batch(host, (0..<200).map { "/slow/\($0)" }), batch(host, ["/quick"]))
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = await outbound.post(slow, within: .seconds(60)) }
                for await _ in gate { break }
                group.addTask { _ = await outbound.post(quick, urgent: true, within: .seconds(60)) }
            }
            let order = host.requests.map(\.path)
            let place = try #require(order.firstIndex(of: "/quick"))
            #expect(place < 200)
        }
    }

    private final class Opened: Sendable {
        let count = Mutex(0)
    }

    /// The first address connects after the second was refused, and its TLS stalls.
    @Test func `a late connection is closed with its attempt`() async throws {
        let (group, opened) = (MultiThreadedEventLoopGroup.singleton, Opened())
        // The backlog has room for one connection. The system tries the next again after a second.
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 0)
            .serverChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                opened.count.withLock { $0 += 1 }
                channel.closeFuture.whenComplete { _ in opened.count.withLock { $0 -= 1 } }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let first = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port).get()
        let addresses = try ["127.0.0.1", "127.0.0.2"].map { try SocketAddress(ipAddress: $0, port: port) }
        let tls = try TLSContexts().context(for: nil)
        let pool = HTTP1Pool(
            HTTP1PoolConfiguration(
                host: "late.example", port: port, authority: "late.example", tls: tls,
                lookUp: { _, eventLoop in
                    eventLoop.scheduleTask(in: .milliseconds(100)) {
                        server.setOption(.autoRead, value: true).whenComplete { _ in }
                    }
                    return eventLoop.makeSucceededFuture(addresses)
                },
                permits: HostPermits(ConnectionBudget(connectionsMax: 2)), connectionsMax: 1,
                connectDeadline: .seconds(2), idleMax: .seconds(30), onHTTP2: {}), on: group.next())
        var batch = HTTP2Batch(body: .shared([1]))
        batch.append(path: "/")
        let (answers, failure) = await pool.send(batch, urgent: false, deadline: .seconds(30), silence: .seconds(30))
        #expect(answers.unprocessedIndices == [0] && failure?.code == .deadline)
        try await first.close()
        let end = ContinuousClock.now + .seconds(10)
        while opened.count.withLock({ $0 }) > 0, ContinuousClock.now < end { await Task.yield() }
        let left = opened.count.withLock { $0 }
        #expect(left == 0)
        pool.shutdown()
        try await server.close()
    }
}

@Suite struct ConnectionBudgetTests {
    @Test func `unanswering hosts get half the connections, others the rest`() {
        let budget = ConnectionBudget(connectionsMax: 8)
        let strangers = (0..<10).map { _ in HostPermits(budget) }
        #expect(strangers.map { $0.take() } == Array(repeating: true, count: 4) + Array(repeating: false, count: 6))
        let known = HostPermits(budget)
        known.becomeKnown()
        #expect((0..<6).map { _ in known.take() } == [true, true, true, true, false, false])
        strangers[0].becomeKnown()
        known.giveBack()
        #expect(strangers[9].take() == true, "one of the strangers is none any more")
        #expect(strangers[8].take() == false)
    }

    @Test func `a connection closed for others is freed once`() {
        let budget = ConnectionBudget(connectionsMax: 4)
        let (idle, busy) = (HostPermits(budget), HostPermits(budget))
        idle.becomeKnown()
        busy.becomeKnown()
        for _ in 0..<4 { #expect(idle.take()) }
        budget.onFull { [idle] _ in
            defer { idle.forgive() }
            return idle.isHeld
        }
        for _ in 0..<4 { #expect(busy.take()) }
        #expect(!busy.take())
        for _ in 0..<4 { idle.giveBack() }
        #expect(!busy.take(), "those were given back already")
        busy.giveBack()
        #expect(busy.take())
    }
}

/// Subscriptions name hosts as they like.
@Suite struct HostConnectionsTests {
    @Test func `many hosts share bounded connections and idle ones yield`() async throws {
        try await ScriptedHost.run(
            allowed: ["127.0.0.0/8"], configure: { $0.connectionsMax = 8 }, answer: { _ in ScriptedHost.Answer() }
        ) { host, outbound in
            // Each address of the loopback is a host of its own to the client.
            for round in 0..<3 {
                for number in 1...20 {
                    let url = host.url.replacing("127.0.0.1", with: "127.0.0.\(number)") + "/\(round)"
                    guard case .response = await outbound.post(url) else {
                        Issue.record("host \(number) was not spoken to")
                        return
                    }
                }
            }
            #expect(host.connections.most < 20, "some may be closing still, for each host learns of it by itself")
        }
    }

    @Test func `strangers close no connection of a known host`() async throws {
        try await ScriptedHost.run(configure: { $0.connectionsMax = 4 }) { request in
            ScriptedHost.Answer(isSilent: request.path != "/known")
        } _: { host, outbound in
            func url(_ number: Int) -> String { host.url.replacing("127.0.0.1", with: "127.0.0.\(number)") }
            _ = await outbound.post(url(99) + "/known")
            var batch = OutboundBatch(OutboundBatch.Shape(headers: [], body: .shared([])))
            for number in 1...3 { batch.append(url: url(number)) }
            let answers = await outbound.post(batch, silence: .seconds(3), within: .seconds(30))
            #expect(answers.count { $0 == .late } == 2, "strangers have half of the connections")
            guard case .response = await outbound.post(url(99) + "/known") else {
                Issue.record("the host was not spoken to")
                return
            }
            #expect(host.connections.ever == 3)
        }
    }

    @Test func `hosts beyond the limit are skipped and others served`() async throws {
        try await ScriptedHost.run(configure: { $0.hostsMax = 6 }) { request in
            ScriptedHost.Answer(isSilent: request.path != "/known")
        } _: { host, outbound in
            func url(_ number: Int) -> String { host.url.replacing("127.0.0.1", with: "127.0.0.\(number)") }
            guard case .response = await outbound.post(url(99) + "/known") else {
                Issue.record("the host was not spoken to")
                return
            }
            var batch = OutboundBatch(OutboundBatch.Shape(headers: [], body: .shared([])))
            for number in 1...10 { batch.append(url: url(number)) }
            async let flood = outbound.post(batch, silence: .seconds(3), within: .seconds(30))
            while host.connections.ever < 4 { await Task.yield() }
            guard case .response = await outbound.post(url(99) + "/known") else {
                Issue.record("hosts that answer nothing took the place of one that did")
                return
            }
            let answers = await flood
            let full = answers.count { if case .unprocessed(let fault) = $0 { fault.code == .full } else { false } }
            #expect(full == 7 && answers.count { $0 == .late } == 3)
            #expect(host.connections.ever == 4)
        }
    }
}
