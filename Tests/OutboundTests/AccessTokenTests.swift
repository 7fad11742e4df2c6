import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import Outbound

@Suite struct AccessTokenTests {
    private func token(_ outbound: Outbound, _ host: ScriptedHost) -> AccessToken {
        AccessToken(
            outbound, url: "\(host.url)/token",
            form: ["grant_type": "client_credentials", "client_secret": "a+b/c= d"])
    }

    /// Grants tokens `t1`, `t2`… and takes only those that `isTaken` names.
    private final class Office: Sendable {
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

    @Test func `of many who need a token at once one fetches it`() async throws {
        try await ScriptedHost.run(answer: Office().answer) { host, outbound in
            let token = token(outbound, host)
            let headers = await Outbound.fanOut(
                Array(0..<50), width: 50, within: .seconds(30), untried: nil as String?
            ) { _ in (try? await token.token())?.header }
            #expect(headers.allSatisfy { $0 == "Bearer t1" })
            #expect(host.requests.count == 1)
            #expect(host.requests.first?.body == "grant_type=client_credentials&client_secret=a%2Bb%2Fc%3D%20d")
        }
    }

    @Test func `a token that is refused is replaced once for all who held it`() async throws {
        try await ScriptedHost.run(answer: Office { $0 == "Bearer t2" }.answer) { host, outbound in
            let token = token(outbound, host)
            let request = OutboundRequest(url: "\(host.url)/send", body: ByteBuffer(string: "x"))
            let statuses = await Outbound.fanOut(
                Array(0..<20), width: 8, within: .seconds(30), untried: 0
            ) { _ in
                guard case .response(let response)? = try? await token.post(request, deadline: .seconds(30)) else {
                    return -1
                }
                return response.status
            }
            #expect(statuses.allSatisfy { $0 == 200 })
            #expect(host.requests.filter { $0.path == "/token" }.count == 2)
        }
    }

    @Test func `a second refusal is the answer`() async throws {
        try await ScriptedHost.run(answer: Office { _ in false }.answer) { host, outbound in
            let request = OutboundRequest(url: "\(host.url)/send", body: ByteBuffer(string: "x"))
            let answer = try await token(outbound, host).post(request, deadline: .seconds(30))
            guard case .response(let response) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(response.status == 401 && host.requests.count == 4)
        }
    }

    @Test(
        arguments: [
            (
                400, #"{"error":"invalid_client","error_description":"no\nsuch"}"#,
                "the token service answered 400 invalid_client: no such"
            ),
            (401, "<html>", "the token service answered 401 "), (500, "", nil), (429, "", nil), (200, "{}", nil),
            (200, "", nil),
            (200, #"{"access_token":"a b"}"#, nil),
        ] as [(Int, String, String?)])
    func `trouble is the credentials' or the service's`(status: Int, body: String, words: String?) async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer(status: status, body: body)
        } _: { host, outbound in
            do {
                let found = try await token(outbound, host).token()
                Issue.record("\(found)")
            } catch {
                let expected: AccessToken.Fault = words.map { .refused($0) } ?? .unavailable(retryAfter: nil)
                #expect(error as? AccessToken.Fault == expected)
            }
        }
    }
}
