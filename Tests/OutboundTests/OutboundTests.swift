import NIOHTTP1
import Testing

@testable import Outbound

@Suite struct OutboundTests {
    @Test func `a post arrives whole and its answer comes back`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(status: 404, headers: ["Retry-After": "7"], body: "gone")
        } _: { host, outbound in
            let answer = await outbound.post("\(host.url)/a?b")
            guard case .response(let response) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(response.status == 404 && response.body == Array("gone".utf8))
            #expect(response.headers.retryAfter() == .seconds(7))
            let seen = try #require(host.requests.first)
            #expect(seen.path == "/a?b" && seen.body == "hello")
            #expect(seen.headers.first(name: "content-length") == "5" && seen.headers.first(name: "x-a") == "b")
            #expect(seen.headers.first(name: "transfer-encoding") == nil)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001"])
    func `a private address is never contacted, however spelt`(name: String) async throws {
        try await ScriptedHost.run(allowed: ["10.0.0.0/8"]) { _ in
            ScriptedHost.Answer()
        } _: { host, outbound in
            for _ in 0..<3 {
                let url = host.url.replacing("127.0.0.1", with: name)
                let answer = await outbound.post(url)
                guard case .unprocessed(let fault) = answer else {
                    Issue.record("\(answer)")
                    return
                }
                #expect(fault.code == .connect)
            }
            #expect(host.requests.isEmpty)
        }
    }

    @Test func `a redirect is an answer and is not followed`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(status: 307, headers: ["Location": "/elsewhere"])
        } _: { host, outbound in
            let answer = await outbound.post(host.url)
            guard case .response(let response) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(response.status == 307 && host.requests.count == 1)
        }
    }

    @Test func `the beginning of a long answer is read`() async throws {
        let long = String(repeating: "x", count: 2_000)
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(body: long)
        } _: { host, outbound in
            let answer = await outbound.post(host.url, answerBytesMax: 1_000)
            guard case .response(let response) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(response.body.count == 1_000)
        }
    }

    @Test func `an endless body is cut off with its batch`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(hangs: true)
        } _: { host, outbound in
            #expect(await outbound.post(host.url, deadline: .seconds(3)) == .late)
        }
    }

    @Test func `where nothing listens nothing was sent`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer()
        } _: { _, outbound in
            let answer = await outbound.post("http://127.0.0.1:1/")
            guard case .unprocessed(let fault) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(fault.code == .connect)
            let unknown = await outbound.post("http://nobody.invalid/")
            guard case .unprocessed(let fault) = unknown else {
                Issue.record("\(unknown)")
                return
            }
            #expect(fault.code == .unresolved && fault.description == "the name of the host does not resolve")
            let nonsense = await outbound.post("nonsense")
            guard case .unprocessed(let second) = nonsense else {
                Issue.record("\(nonsense)")
                return
            }
            #expect(second.code == .url)
        }
    }
}
