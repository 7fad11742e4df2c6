import BelfryTesting
import Crypto
import FoundationEssentials
import HTTPTypes
import KeyFiles
import Testing

@testable import BelfryService

/// The credentials of application servers.
@Suite struct VAPIDTests {
    private let key = P256.Signing.PrivateKey()

    private func header(_ token: String) -> String { "vapid t=\(token), k=\(key.vapidText)" }

    @Test func `an endpoint is for the key it was made for`() async throws {
        let rig = try await WebPushRig()
        let device = try await rig.device(.androidFCM)
        let path = try await rig.endpoint(
            of: device, .androidFCM, #"{"vapid_public_key":"\#(key.vapidText)"}"#)
        let missing = try await rig.post(path)
        #expect(missing.status == 401 && missing.headers[.wwwAuthenticate] == "vapid", "\(missing)")
        let token = try rig.vapid(key)
        #expect(try await rig.post(path, [.authorization: header(token)]).status == 201)
        #expect(try await rig.post(path, [.authorization: "VAPID k=\(key.vapidText),t=\(token)"]).status == 201)
        let other = P256.Signing.PrivateKey()
        let foreign = "vapid t=\(try rig.vapid(other)), k=\(other.vapidText)"
        #expect(try await rig.post(path, [.authorization: foreign]).status == 403)
        #expect(try await rig.post(path, [.authorization: header(try rig.vapid(other))]).status == 403)
    }

    /// As Mastodon wrote it for `aesgcm`, and others before RFC 8292.
    @Test(arguments: ["WebPush", "Bearer"])
    func `the older form is understood`(scheme: String) async throws {
        let rig = try await WebPushRig(.vapid)
        let path = try await rig.endpoint(
            of: try await rig.device(.androidFCM), .androidFCM, #"{"vapid_public_key":"\#(key.vapidText)"}"#)
        let changes: [HTTPField.Name: String?] = [
            .authorization: "\(scheme) \(try rig.vapid(key))", .contentEncoding: "aesgcm",
            .encryption: "salt=SVzmyN6TpFOehi6GNJk8uw",
            .cryptoKey:
                "dh=BDf5UyzVhK7mT6MSZlSVgnPzKEQlqLmbEsFnBFcSGJJ0T3QyVcnJfcXRQTWoOL1OEELF1bXG6eJmFbEKIv7NhMA;p256ecdsa=\(key.vapidText)",
        ]
        let answer = try await rig.post(path, changes, [UInt8](repeating: 7, count: 300))
        #expect(answer.status == 201, "\(answer)")
    }

    @Test(
        arguments: [
            ("https://other.example", 3_600), ("http://push.example.org:81", 3_600), ("", 3_600),
            (WebPushRig.url, -61), (WebPushRig.url, 86_400 + 120),
        ] as [(String, Int64)])
    func `a token with a wrong claim is refused`(audience: String, expires: Int64) async throws {
        let rig = try await WebPushRig(.vapid)
        let path = try await rig.endpoint(
            of: try await rig.device(.ios), .ios, #"{"vapid_public_key":"\#(key.vapidText)"}"#)
        let token = try rig.vapid(key, audience: audience, expires: expires)
        let answer = try await rig.post(path, [.authorization: header(token)])
        #expect(answer.status == 403 && answer.text.contains("VAPID"), "\(answer)")
        let right = try rig.vapid(key, expires: 86_400)
        #expect(try await rig.post(path, [.authorization: header(right)]).status == 201)
    }

    @Test(
        arguments: [
            "vapid", "vapid t=, k=", "vapid t=a.b.c", "vapid t=a.b.c, k=AAAA", "Basic eDp5", "Bearer x",
            "vapid t=\(String(repeating: "a", count: 3_000)), k=\(P256.Signing.PrivateKey().vapidText)",
            "vapid t=a.b.c, k=\(P256.Signing.PrivateKey().vapidText)",
            "vapid t=e30.e30.AAAA, k=\(P256.Signing.PrivateKey().vapidText)",
            "vapid t=e30.e30.AAAA, k=BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ])
    func `garbage is refused`(header: String) async throws {
        let rig = try await WebPushRig(.vapid)
        let path = try await rig.endpoint(
            of: try await rig.device(.ios), .ios, #"{"vapid_public_key":"\#(key.vapidText)"}"#)
        let status = try await rig.post(path, [.authorization: header]).status
        #expect(status == 401 || status == 403)
        #expect(try await rig.store.allPushes().isEmpty)
    }

    @Test(arguments: [
        #"{"typ":"JWT","alg":"none"}"#, #"{"typ":"JWT","alg":"HS256"}"#, #"{"typ":"JWT","alg":"RS256"}"#,
        #"{"alg":"ES256","crit":["x"]}"#,
    ])
    func `no other algorithm is taken`(tokenHeader: String) async throws {
        let rig = try await WebPushRig(.vapid)
        let path = try await rig.endpoint(
            of: try await rig.device(.ios), .ios, #"{"vapid_public_key":"\#(key.vapidText)"}"#)
        let token = try rig.vapid(key, header: tokenHeader)
        #expect(try await rig.post(path, [.authorization: header(token)]).status == 403)
    }

    @Test func `a token that was verified ends with its time`() async throws {
        let rig = try await WebPushRig(.vapid)
        let path = try await rig.endpoint(
            of: try await rig.device(.ios), .ios, #"{"vapid_public_key":"\#(key.vapidText)"}"#)
        let token = header(try rig.vapid(key, expires: 600))
        for (passed, status) in [(0, 201), (599, 201), (120, 403)] {
            rig.clock.advance(by: .seconds(passed))
            #expect(try await rig.post(path, [.authorization: token]).status == status, "\(passed)")
        }
    }

    @Test func `an application may demand credentials`() async throws {
        let strict = try await WebPushRig(.vapid)
        let device = try await strict.device(.ios)
        let refused = try await strict.ask(.post, "", of: device, .ios)
        #expect(refused.status == 400 && refused.text.contains("vapid_public_key is missing"), "\(refused)")
        let open = try await WebPushRig()
        let path = try await open.endpoint(of: try await open.device(.ios), .ios)
        #expect(try await open.post(path).status == 201)
        #expect(try await open.post(path, [.authorization: "vapid t=x, k=y"]).status == 201, "nothing is asked")
        try await open.store.edit(open.application.key, ApplicationEdit(webPush: .vapid))
        #expect(try await open.post(path).status == 401, "it was made before")
        #expect(try await open.post(path, [.authorization: header(try open.vapid(key))]).status == 201)
    }
}
