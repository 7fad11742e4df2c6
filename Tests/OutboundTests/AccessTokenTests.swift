import HTTP2Client
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import Outbound

@Suite struct AccessTokenTests {
    private func token(_ outbound: Outbound, _ host: ScriptedHost) -> AccessToken {
        AccessToken {
            await outbound.grant(
                from: "\(host.url)/token",
                form: ["grant_type": "client_credentials", "client_secret": "a+b/c= d"])
        }
    }

    private func batch(_ host: ScriptedHost, count: Int) -> OutboundBatch {
        var batch = OutboundBatch(OutboundBatch.Shape(headers: [], body: .shared([1])))
        for _ in 0..<count { batch.append(url: "\(host.url)/send") }
        return batch
    }

    private func status(_ result: Result<OutboundAnswer, AccessTokenError>) -> Int {
        if case .success(.response(let response)) = result { response.status } else { -1 }
    }

    /// Grants tokens `t1`, `t2`… and takes only those that `isTaken` names.
    private final class AdminService: Sendable {
        private let granted = Mutex(0)
        let isTaken: @Sendable (String) -> Bool

        init(isTaken: @escaping @Sendable (String) -> Bool = { _ in true }) { self.isTaken = isTaken }

        @Sendable func answer(_ request: ScriptedHost.Request) -> ScriptedHost.Answer {
            guard request.path == "/token" else {
                let header = request.headers.first(name: "authorization") ?? ""
                return ScriptedHost.Answer(status: isTaken(header) ? 200 : 401)
            }
            let number = granted.withLock { number in
                number += 1
                return number
            }
            return ScriptedHost.Answer(body: #"{"access_token":"t\#(number)","expires_in":3600,"token_type":"bearer"}"#)
        }
    }

    @Test func `many simultaneous callers fetch one token`() async throws {
        try await ScriptedHost.run(answer: AdminService().answer) { host, outbound in
            let token = token(outbound, host)
            let tokens = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<50 { group.addTask { (try? await token.current())?.token } }
                return await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(tokens == ["t1"])
            #expect(host.requests.count == 1)
            #expect(host.requests.first?.body == "grant_type=client_credentials&client_secret=a%2Bb%2Fc%3D%20d")
        }
    }

    @Test func `a refused token is replaced once for all holders`() async throws {
        try await ScriptedHost.run(answer: AdminService { $0 == "Bearer t2" }.answer) { host, outbound in
            let token = token(outbound, host)
            let results = await outbound.post(batch(host, count: 20), with: token, within: .seconds(30))
            #expect(results.map(status) == Array(repeating: 200, count: 20))
            #expect(host.requests.filter { $0.path == "/token" }.count == 2)
        }
    }

    @Test func `a second refusal is the answer`() async throws {
        try await ScriptedHost.run(answer: AdminService { _ in false }.answer) { host, outbound in
            let results = await outbound.post(
                batch(host, count: 1), with: token(outbound, host), within: .seconds(30))
            #expect(results.map(status) == [401] && host.requests.count == 4)
        }
    }

    @Test func `a hundred simultaneous callers cause one request`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let fetches = Mutex(0)
        let token = AccessToken(now: { .zero }) {
            fetches.withLock { $0 += 1 }
            for await _ in gate { break }
            return .success(AccessGrant(token: "a", lifetime: .seconds(3_600)))
        }
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await token.current().token } }
            open.yield()
            open.finish()
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens == ["a"])
        #expect(fetches.withLock(\.self) == 1)
    }

    @Test func `all that wait learn of a refusal`() async {
        let refusal = AccessTokenError(isRefusal: true, "invalid_grant")
        let fetches = Mutex(0)
        let token = AccessToken(now: { .zero }) {
            fetches.withLock { $0 += 1 }
            return .failure(refusal)
        }
        for _ in 0..<3 {
            await #expect(throws: refusal) { _ = try await token.current() }
        }
        #expect(fetches.withLock(\.self) == 1)
    }
}

@Suite struct AccessGrantTests {
    private func grant(
        _ status: Int, _ body: String, _ headers: HTTPHeaders = [:]
    ) -> Result<AccessGrant, AccessTokenError> {
        Outbound.grant(
            .response(OutboundResponse(status: status, headers: headers, body: Array(body.utf8))), from: "https://o")
    }

    @Test(arguments: [
        (#"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#, "ya29.x", 3_599),
        (#"{"access_token":"x\/y"}"#, "x/y", 3_600), (#"{"access_token":"x","expires_in":"60"}"#, "x", 60),
        (#"{"access_token":"x","expires_in":-1}"#, "x", 0), (#"{"access_token":"x","expires_in":1e18}"#, "x", 86_400),
    ])
    func `a token is taken with its life`(body: String, token: String, seconds: Int) {
        #expect(grant(200, body) == .success(AccessGrant(token: token, lifetime: .seconds(seconds))))
    }

    @Test(
        arguments: [
            (
                400, #"{"error":"invalid_client","error_description":"no\nsuch"}"#, true,
                "https://o answered 400: invalid_client, no such"
            ),
            (401, "<html>", true, "https://o answered 401"), (403, "<p>", true, "https://o answered 403"),
            (400, #"{"error":1101,"sub_error":20001}"#, true, "https://o answered 400: 1101, 20001"),
            (200, #"{"error":1101}"#, true, "https://o answered 200: 1101"),
            (408, "", false, "https://o answered 408"), (429, "", false, "https://o answered 429"),
            (500, "", false, "https://o answered 500"), (503, "{}", false, "https://o answered 503"),
            (302, "", false, "https://o answered 302"), (200, "{}", false, "https://o answered 200"),
            (200, "", false, "https://o answered 200"),
            (200, #"{"access_token":"a b"}"#, false, "https://o answered 200"),
            (200, #"{"access_token":"a\r\nb"}"#, false, "https://o answered 200"),
        ])
    func `a refusal needs action; server trouble needs retry`(
        status: Int, body: String, isRefusal: Bool, reason: String
    ) {
        let expected = AccessTokenError(isRefusal: isRefusal, reason, retryAfter: .seconds(9))
        #expect(grant(status, body, ["Retry-After": "9"]) == .failure(expected))
    }

    @Test(arguments: [(OutboundFault.Code.tls, true), (.connect, false), (.deadline, false)])
    func `an untrusted certificate needs a person, a lost connection not`(
        code: OutboundFault.Code, isRefusal: Bool
    ) {
        let error = AccessTokenError(isRefusal: isRefusal, "")
        guard case .failure(let found) = Outbound.grant(.unprocessed(OutboundFault(code, "x")), from: "https://o")
        else {
            Issue.record("a token came of nothing")
            return
        }
        #expect(found.isRefusal == error.isRefusal)
    }

    @Test func `a token server's endless answer delays no other`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(hangs: true)
        } _: { host, outbound in
            let request = OutboundRequest("POST", host.url, body: Array("x".utf8))
            #expect(await outbound.ask(request, deadline: .seconds(3)) == .late)
        }
    }
}
