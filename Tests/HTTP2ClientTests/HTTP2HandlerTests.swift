import CNghttp2
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTP2Client

@Suite struct HTTP2HandlerTests {
    @Test func `answers follow request order with kept headers and bodies`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 10))
        let reply = try connection.send(3)
        connection.server.answer(5, status: 410, headers: [("apns-id", "c"), ("x-other", "no")], bodyBytes: 2_500)
        connection.server.answer(1, status: 200, headers: [("apns-id", "a")])
        connection.server.answer(3, status: 400, headers: [("retry-after", "7")], bodyBytes: 2_500)
        try connection.turn()
        #expect(reply.words == ["200", "400", "410"])
        #expect(reply.responses.map { $0["apns-id"] } == ["a", nil, "c"])
        #expect(reply.responses[1]["retry-after"] == "7")
        #expect(reply.responses[2]["x-other"] == nil)
        #expect(reply.responses.map(\.body.count) == [0, 2_500, 2_500])
        #expect(Set(reply.responses[1].body) == [UInt8(ascii: "d")])
        #expect(Set(reply.responses[2].body) == [UInt8(ascii: "f")])
    }

    @Test func `path and varying headers are never indexed; shared ones are`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 10))
        var batch = HTTP2Batch(headers: [HTTP2Header("apns-topic", "app")], varying: ["apns-id"], body: .shared([1]))
        batch.append(path: "/a", values: ["id"])
        batch.append(path: "/b", values: [""])
        _ = try connection.send(batch)
        let first = connection.server.requests[0]
        #expect(first.headers.filter(\.isNeverIndexed).map(\.name) == [":path", "apns-id"])
        #expect(first.headers.map(\.name) == [":method", ":scheme", ":authority", ":path", "apns-topic", "apns-id"])
        #expect(connection.server.requests[1]["apns-id"] == nil, "an empty value leaves the header out")
    }

    @Test func `a body beyond the limit is cut and marked`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 10)) { $0.bodyBytesMax = 1_500 }
        let reply = try connection.send(1)
        connection.server.answer(1, status: 500, bodyBytes: 100_000)
        try connection.turn()
        #expect(reply.responses.map(\.body.count) == [1_500])
        #expect(reply.responses.map(\.isTruncated) == [true])
    }

    @Test func `an oversized body answers at once without its rest`() throws {
        let server = ScriptedServer(streams: 10)
        let connection = try TestConnection(server: server)
        var batch = HTTP2Batch(body: .shared([1]))
        batch.answerBytesMax = 1_500
        batch.append(path: "/")
        let reply = try connection.send(batch)
        server.answer(1, status: 200, bodyBytes: 10_000_000)
        try connection.turn()
        #expect(reply.responses.map(\.body.count) == [1_500] && reply.responses.map(\.isTruncated) == [true])
        #expect(server.resets[1] == NGHTTP2_CANCEL.rawValue)
    }

    @Test func `a batch keeps named headers, repeated ones within bounds`() throws {
        let server = ScriptedServer(streams: 10)
        let connection = try TestConnection(server: server)
        var batch = HTTP2Batch(body: .shared([1]))
        batch.keptHeaders = ["x-own"]
        batch.append(path: "/")
        let reply = try connection.send(batch)
        let own = [("x-own", String(repeating: "v", count: 200))]
        server.answer(1, status: 200, headers: [("apns-id", "a")] + Array(repeating: own[0], count: 20))
        try connection.turn()
        let response = try #require(reply.responses.first)
        #expect(response["x-own"] == own[0].1 && response["apns-id"] == nil)
        #expect(1...5 ~= response.keptHeaders.count)
    }

    @Test func `overdue requests are given up and others continue`() throws {
        let server = ScriptedServer(streams: 10)
        let connection = try TestConnection(server: server)
        let batch = HTTP2Batch.numbered(3)
        let quiet = try connection.send(batch, silence: .seconds(5))
        let patient = try connection.send(batch)
        server.answer(1, status: 200)
        try connection.advance(4)
        server.answer(3, status: 200)
        try connection.advance(4)
        #expect(quiet.words.isEmpty)
        try connection.advance(3)
        #expect(quiet.words == ["200", "200", "unknown deadline passed"])
        for stream in [7, 9, 11] as [Int32] { server.answer(stream, status: 200) }
        try connection.turn()
        #expect(patient.words == ["200", "200", "200"])
    }

    @Test func `a body beyond the flow window goes in pieces`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 10, window: 1_000))
        var batch = HTTP2Batch(body: .own)
        batch.append(path: "/large", body: Array(repeating: 1, count: 200_000))
        batch.append(path: "/none", body: [])
        _ = try connection.send(batch)
        #expect(connection.server.requests.map(\.bodyBytes) == [200_000, 0])
        #expect(connection.server.requests.map(\.isComplete) == [true, true])
    }

    @Test func `one request goes out until an answer proves the authentication`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 5)) { $0.initialStreamLimit = 1 }
        let reply = try connection.send(8)
        #expect(connection.paths == ["/0"])
        connection.server.answer(1, status: 403)
        try connection.turn()
        #expect(connection.paths == ["/0", "/1"], "a refusal proves nothing")
        connection.server.answer(3, status: 200)
        try connection.turn()
        #expect(connection.paths.count == 7)
        #expect(connection.events.contains(.proven))
        for stream in stride(from: Int32(5), through: 13, by: 2) { connection.server.answer(stream, status: 200) }
        try connection.turn()
        connection.server.answer(15, status: 200)
        try connection.turn()
        #expect(reply.words == ["403"] + Array(repeating: "200", count: 7))
    }

    @Test func `a lowered stream limit applies next, a raised one now`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 4))
        let reply = try connection.send(10)
        #expect(connection.paths.count == 4)
        connection.server.settings(streams: 1)
        try connection.turn()
        for stream: Int32 in [1, 3, 5] { connection.server.answer(stream, status: 200) }
        try connection.turn()
        #expect(connection.paths.count == 4, "one is still open")
        connection.server.answer(7, status: 200)
        try connection.turn()
        #expect(connection.paths.count == 5)
        connection.server.settings(streams: 100)
        try connection.turn()
        #expect(connection.paths.count == 10)
        #expect(reply.answers == nil)
        #expect(connection.events == [.streamLimit(4), .streamLimit(1), .proven, .streamLimit(100)])
    }

    @Test func `urgent requests go before all that wait`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 2))
        _ = try connection.send(4)
        let urgent = try connection.send(2, urgent: true)
        connection.server.answer(1, status: 200)
        connection.server.answer(3, status: 200)
        try connection.turn()
        #expect(connection.paths == ["/0", "/1", "/urgent/0", "/urgent/1"])
        connection.server.answer(5, status: 200)
        connection.server.answer(7, status: 200)
        try connection.turn()
        #expect(urgent.words == ["200", "200"])
        #expect(connection.paths.suffix(2) == ["/2", "/3"])
    }

    @Test func `GOAWAY leaves later streams unprocessed and awaits earlier ones`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 4))
        let reply = try connection.send(6)
        connection.server.goAway(last: 3, debugData: #"{"reason":"Shutdown"}"#)
        try connection.turn()
        #expect(reply.answers == nil)
        #expect(connection.channel.isActive)
        let ending = HTTP2Ending.goAway(errorCode: 0, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
        #expect(connection.events.last == .draining(ending))
        connection.server.answer(1, status: 200)
        connection.server.answer(3, status: 200)
        try connection.turn()
        #expect(reply.words == ["200", "200"] + Array(repeating: "unprocessed GOAWAY", count: 4))
        #expect(connection.events.last == .closed(ending))
        #expect(!connection.channel.isActive)
    }

    @Test func `a second GOAWAY may name a lower stream`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 4))
        let reply = try connection.send(3)
        connection.server.goAway(last: .max)
        try connection.turn()
        #expect(reply.answers == nil)
        connection.server.goAway(last: 1)
        connection.server.answer(1, status: 200)
        try connection.turn()
        #expect(reply.words == ["200", "unprocessed GOAWAY", "unprocessed GOAWAY"])
    }

    @Test func `a refused stream is unprocessed, any other reset is unknown`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 4))
        let reply = try connection.send(3)
        connection.server.reset(1, NGHTTP2_REFUSED_STREAM)
        connection.server.reset(3, NGHTTP2_INTERNAL_ERROR)
        connection.server.answer(5, status: 200)
        try connection.turn()
        #expect(reply.words == ["unprocessed stream refused", "unknown stream reset", "200"])
    }

    @Test func `the deadline resets written requests and returns waiting ones`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 2))
        let reply = try connection.send(3, deadline: .seconds(3))
        let loop = try connection.send(1, deadline: .seconds(60))
        try connection.advance(2)
        #expect(reply.answers == nil)
        try connection.advance(2)
        #expect(reply.words == ["unknown deadline passed", "unknown deadline passed", "unprocessed deadline passed"])
        #expect(connection.server.resets == [1: NGHTTP2_CANCEL.rawValue, 3: NGHTTP2_CANCEL.rawValue])
        #expect(connection.paths.count == 3, "the streams are free for the next batch")
        connection.server.answer(5, status: 200)
        try connection.turn()
        #expect(loop.words == ["200"])
    }

    @Test func `a batch whose deadline has passed is not written`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 2))
        #expect(
            try connection.send(2, deadline: .zero).words == Array(repeating: "unprocessed deadline passed", count: 2))
        #expect(connection.paths.isEmpty)
    }

    @Test func `a cancelled batch is answered at once`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 1))
        let reply = try connection.send(2)
        connection.handler.cancel(1)
        try connection.turn()
        #expect(reply.words == ["unknown cancelled", "unprocessed cancelled"])
    }

    @Test func `a batch that was never written is not kept`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 1))
        connection.channel.isWritable = false
        weak var kept: BatchJob?
        do {
            let job = BatchJob(
                id: 1, batch: .numbered(2), authority: Array("host".utf8), isUrgent: false, lapsesAt: .max
            ) { _ in }
            kept = job
            connection.handler.send(job)
        }
        try connection.turn()
        #expect(kept != nil)
        connection.handler.cancel(1)
        try connection.turn()
        #expect(kept == nil)
    }

    @Test func `silence is pinged, and a missed ping ends the connection`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 1, answersPings: false))
        let reply = try connection.send(2, deadline: .seconds(600))
        try connection.advance(9)
        #expect(connection.server.pings == 0)
        try connection.advance(2)
        #expect(connection.server.pings == 1)
        try connection.advance(3)
        #expect(reply.answers == nil)
        try connection.advance(2)
        #expect(reply.words == ["unknown ping unanswered", "unprocessed ping unanswered"])
        #expect(connection.events.last == .closed(.pingUnanswered))
    }

    @Test func `an answered ping keeps the connection, idle or not`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 1))
        try connection.advance(3_700)
        #expect(connection.server.pings == 1)
        let reply = try connection.send(1, deadline: .seconds(600))
        try connection.advance(60)
        #expect(connection.server.pings > 1)
        #expect(reply.answers == nil)
        #expect(connection.channel.isActive)
    }

    @Test func `a lost connection makes written requests unknown, waiting ones unprocessed`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 2))
        let reply = try connection.send(3)
        try connection.channel.close().wait()
        connection.channel.embeddedEventLoop.run()
        #expect(
            reply.words == ["unknown connection lost", "unknown connection lost", "unprocessed connection lost"])
        let late = try connection.send(1)
        #expect(late.words == ["unprocessed connection lost"])
    }

    @Test func `a peer that breaks the protocol loses the connection`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 2))
        let reply = try connection.send(1)
        try connection.channel.writeInbound(ByteBuffer(repeating: 0xFF, count: 4_096))
        try connection.turn()
        #expect(reply.words == ["unknown protocol broken"] || reply.words == ["unknown connection lost"])
        #expect(!connection.channel.isActive)
    }

    @Test func `server errors in a row make the connection sick`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 1)) { $0.sickAfter = 3 }
        connection.server.autoStatus = 500
        let reply = try connection.send(5)
        #expect(reply.words == ["500", "500", "500"] + Array(repeating: "unprocessed connection closing", count: 2))
        #expect(connection.events.contains(.draining(.sick)))
    }

    @Test func `the judge retires a connection by what an answer says`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 1)) {
            $0.judge = { status, body in status == 403 && body.count == 10 ? .retire : .keep }
        }
        let reply = try connection.send(3)
        connection.server.answer(1, status: 403, bodyBytes: 9)
        try connection.turn()
        connection.server.answer(3, status: 403, bodyBytes: 10)
        try connection.turn()
        #expect(reply.words == ["403", "403", "unprocessed connection closing"])
    }

    @Test func `more than the connection holds is turned away at once`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 1)) { $0.waitingMax = 5 }
        let held = try connection.send(5)
        let refused = try connection.send(5)
        #expect(held.answers == nil)
        #expect(Set(refused.words) == ["unprocessed queue full"])
        #expect(try connection.send(0).words.isEmpty)
    }

    @Test func `closing waits for due answers until its end`() throws {
        let connection = try TestConnection(server: ScriptedServer(streams: 2))
        let reply = try connection.send(3)
        connection.handler.drain(.closed)
        connection.server.answer(1, status: 200)
        try connection.turn()
        #expect(reply.answers == nil)
        connection.handler.end(.closed)
        #expect(reply.words == ["200", "unknown connection closing", "unprocessed connection closing"])
    }
}
