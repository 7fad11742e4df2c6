import Crypto
import FoundationEssentials
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// Vectors and habits of signed custom user ids. Source of both tokens: the JWT generator of push-tools and the tests of
/// push-android.
@Suite struct SignedUserIDTests {
    static let first = (
        secret: "6173657630314C356B4161393134357A4A355A67336F303849384F494E4E384C",
        token: "eyJhbGciOiJIUzI1NiJ9.eyJjdXN0b21fdXNlcl9pZCI6ImJvbmQwMDcifQ.I_ebQ-2NZjzTRWE-nuwgZfGNtz_4m6Bh9TlLFs06GU4"
    )
    static let second = (
        secret: "4873357435657730734b49426133746b547a7a6b78656d74427a345837593447",
        token: "eyJhbGciOiJIUzI1NiJ9.eyJjdXN0b21fdXNlcl9pZCI6ImJvbmQwMDcifQ.HgAet6Es9XHbveCPgaKMs1lMwI-aJQv3FQBvsAd3lyE"
    )

    static func key(_ hex: String) throws -> SymmetricKey { SymmetricKey(data: try #require([UInt8](hex: hex.utf8))) }

    /// A token made of any header and payload, well signed.
    static func token(_ header: String, _ payload: String) throws -> String {
        func base64(_ bytes: some Sequence<UInt8>) -> String {
            Data(bytes).base64EncodedString().filter { $0 != "=" }
                .map { $0 == "+" ? "-" : $0 == "/" ? "_" : String($0) }.joined()
        }
        let signed = "\(base64(header.utf8)).\(base64(payload.utf8))"
        let code = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: try key(first.secret))
        return "\(signed).\(base64(code))"
    }

    @Test(arguments: [first, second])
    func `the worked examples open`(vector: (secret: String, token: String)) throws {
        #expect(try SignedUserID.opened(vector.token, with: [Self.key(vector.secret)]) == "bond007")
    }

    @Test(arguments: [
        (second.token, "is signed with another secret"),
        ("bond007", "has to be signed"),
        ("a.b", "has to be signed"),
        ("....", "has to be signed"),
        (first.token + "=", "has to be signed"),
        (String(first.token.dropLast()) + "!", "has to be signed"),
        (String(first.token.dropLast(2)) + "U8", "is signed with another secret"),
        ("eyJhbGciOiJub25lIn0.eyJjdXN0b21fdXNlcl9pZCI6ImJvbmQwMDcifQ.", "has to be signed with HS256"),
    ])
    func `a wrong signature is refused`(token: String, problem: String) throws {
        let key = try Self.key(Self.first.secret)
        let error = try #require(throws: InvalidInput.self) { try SignedUserID.opened(token, with: [key]) }
        #expect(error.field == "custom_user_id")
        #expect(error.problem.hasPrefix(problem), "\(error)")
    }

    @Test(arguments: [
        (#"{"alg":"HS256","typ":"JWT","kid":7}"#, #"{"custom_user_id":"bond007","iat":1}"#, nil),
        (#"{"alg":"hs256"}"#, #"{"custom_user_id":"bond007"}"#, "has to be signed with HS256"),
        (#"{"alg":"HS512"}"#, #"{"custom_user_id":"bond007"}"#, "has to be signed with HS256"),
        (#"{"alg":"none"}"#, #"{"custom_user_id":"bond007"}"#, "has to be signed with HS256"),
        (#"{}"#, #"{"custom_user_id":"bond007"}"#, "has to be signed with HS256"),
        (
            #"{"alg":"HS256","crit":["b64"],"b64":false}"#, #"{"custom_user_id":"bond007"}"#,
            "has to be signed with HS256"
        ),
        (#"[]"#, #"{"custom_user_id":"bond007"}"#, "has a header that is not a JSON object"),
        (#"{"alg":"HS256"}"#, #"{"custom_user_id":""}"#, "has a payload without a custom_user_id"),
        (#"{"alg":"HS256"}"#, #"{"custom_user_id":7}"#, "has a payload that is not"),
        (#"{"alg":"HS256"}"#, #"{"user":"bond007"}"#, "has a payload without a custom_user_id"),
        (#"{"alg":"HS256"}"#, #"bond007"#, "has a payload that is not"),
    ])
    func `a well signed token has to say the right things`(header: String, payload: String, problem: String?) throws {
        let key = try Self.key(Self.first.secret)
        let token = try Self.token(header, payload)
        if let problem {
            let error = try #require(throws: InvalidInput.self) { try SignedUserID.opened(token, with: [key]) }
            #expect(error.problem.hasPrefix(problem), "\(error)")
        } else {
            #expect(try SignedUserID.opened(token, with: [key]) == "bond007")
        }
    }

    @Test func `a device is registered under the id that was signed`() async throws {
        let reply = try await TestServer().register(
            #"{"registration_token":"ab","custom_user_id":"\#(Self.first.token)"}"#)
        #expect(reply.status == 200)
        #expect(reply["custom_user_id"] == .string("bond007"))
    }

    @Test func `plain ids are refused only while ids are verified`() async throws {
        var server = try await TestServer()
        let body = #"{"registration_token":"ab","custom_user_id":"Bond007"}"#
        let refused = try await server.register(body)
        #expect(refused.status == 400)
        #expect(refused.message?.hasPrefix("custom_user_id has to be signed") == true)
        server.options.verifiesCustomUserIDs = false
        #expect(try await server.register(body)["custom_user_id"] == .string("Bond007"))
    }

    @Test func `an empty id clears unsigned; only PUT keeps missing ones`() async throws {
        let server = try await TestServer()
        let signed = #"{"registration_token":"ab","custom_user_id":"\#(Self.first.token)"}"#
        let uuid = try await server.device("ab")
        for absent in [#"{"registration_token":"ab"}"#, #"{"registration_token":"ab","custom_user_id":null}"#] {
            _ = try await server.register(signed)
            let kept = try await server.send(.put, "/v1/registration/\(uuid)", as: .iPhone, absent)
            #expect(kept["custom_user_id"] == .string("bond007"))
            #expect(try await server.register(absent)["custom_user_id"] == .null)
        }
        _ = try await server.register(signed)
        #expect(
            try await server.register(#"{"registration_token":"ab","custom_user_id":""}"#)["custom_user_id"] == .null)
    }

    @Test func `a regenerated shared secret counts at once`() async throws {
        let server = try await TestServer()
        let found = try await server.app().test(.router) { client in
            func status(_ token: String) async throws -> Int {
                try await client.execute(
                    uri: "/v1/registration", method: .post,
                    headers: [.authorization: TestServer.User.iPhone.header(server) ?? ""],
                    body: ByteBuffer(string: #"{"registration_token":"ab","custom_user_id":"\#(token)"}"#)
                ).status.code
            }
            let before = [try await status(Self.first.token), try await status(Self.second.token)]
            let secret = try #require([UInt8](hex: Self.second.secret.utf8))
            try await server.store.replaceSharedSecret(
                of: server.application,
                with: server.vault.seal(secret, for: VaultPurpose.sharedSecret(of: server.application.uuid)),
                graceEnd: nil)
            return before + [try await status(Self.first.token), try await status(Self.second.token)]
        }
        #expect(found == [200, 400, 400, 200])
    }

    @Test(arguments: [(255, 200), (256, 400)])
    func `an id has 255 characters at most, counted as sent`(length: Int, status: Int) async throws {
        var server = try await TestServer()
        server.options.verifiesCustomUserIDs = false
        let id = String(repeating: "ü", count: length)
        let reply = try await server.register(#"{"registration_token":"ab","custom_user_id":"\#(id)"}"#)
        #expect(reply.status == status)
        if status == 400 { #expect(reply.message == "custom_user_id is 256 characters, the limit is 255") }
    }
}
