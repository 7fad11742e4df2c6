import NIOHTTP1
import Testing

@testable import Outbound

@Suite struct AskTests {
    @Test func `forms are posted, others fetched, and redirects not followed`() async throws {
        try await ScriptedHost.run { request in
            request.path == "/there"
                ? ScriptedHost.Answer(status: 302, headers: ["Location": "/elsewhere"])
                : ScriptedHost.Answer(status: 201, body: "{}")
        } _: { host, outbound in
            let posted = await outbound.ask(
                "\(host.url)/here", form: "a=b", authorization: "Basic x", deadline: .seconds(30))
            guard case .response(let answer) = posted else { return #expect(Bool(false), "\(posted)") }
            #expect(answer.status == 201 && answer.body == Array("{}".utf8))
            let fetched = await outbound.ask("\(host.url)/there", form: nil, authorization: nil, deadline: .seconds(30))
            guard case .response(let redirect) = fetched else { return #expect(Bool(false), "\(fetched)") }
            #expect(redirect.status == 302)
            #expect(host.requests.map(\.path) == ["/here", "/there"])
            #expect(host.requests.map(\.body) == ["a=b", ""])
            #expect(host.requests.map { $0.headers["authorization"] } == [["Basic x"], []])
            #expect(
                host.requests.map { $0.headers["content-type"] } == [["application/x-www-form-urlencoded"], []])
        }
    }
}
