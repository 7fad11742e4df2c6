import BelfryAdmin
import Foundation
import MessageEncryption
import Synchronization
import Testing

#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A back end against a server that answers as it was told.
@Suite(.serialized) struct AdminTests {
    private static let app = UUID()

    /// A client whose requests get these answers, one after the other.
    private func client(_ answers: [(status: Int, body: String)], at server: String = "http://push.example") throws
        -> AdminClient
    {
        ScriptedAnswers.held.withLock { $0 = ([], answers) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [ScriptedAnswers.self]
        let url = try #require(URL(string: server))
        return AdminClient(server: url, key: "bfy_1", session: URLSession(configuration: configuration))
    }

    private var asked: [ScriptedAnswers.Asked] { ScriptedAnswers.held.withLock { $0.asked } }

    private func page(next: String?) throws -> (status: Int, body: String) {
        let key = P256.KeyAgreement.PrivateKey()
        let secret = [UInt8](repeating: 5, count: 16)
        let keys = try DeviceKeys(publicKey: Array(key.publicKey.x963Representation), secret: secret)
        let device = #"{"device_uuid":"\#(UUID())","type":"ios","p256dh":"\#(keys.p256dh)","auth":"\#(keys.auth)"}"#
        return (200, #"{"devices":[\#(device)],"next_cursor":\#(next.map { "\"\($0)\"" } ?? "null")}"#)
    }

    private func sent(_ id: UUID) -> (status: Int, body: String) { (202, #"{"receipt_id":"\#(id)"}"#) }

    @Test(arguments: ["http://push.example/push", "http://push.example/push/"])
    func `a server below a path is asked there`(server: String) async throws {
        let client = try client([sent(UUID())], at: server)
        _ = try await client.push(PushRequest(message: .init(body: "Hello"), target: .everyone), for: Self.app)
        #expect(asked.map(\.path) == ["/push/admin/v1/apps/\(Self.app.uuidString.lowercased())/pushes"])
    }

    @Test func `an encrypted text that is too long sends nothing`() async throws {
        for bytes in [DeviceKeys.textBytesMax + 1, 50_000] {
            let client = try client([try page(next: nil)])
            await #expect(throws: MessageEncryptionError.textTooLong(bytes: bytes, limit: DeviceKeys.textBytesMax)) {
                try await client.pushEncrypted(String(repeating: "x", count: bytes), to: .everyone, for: Self.app)
            }
            #expect(asked.isEmpty)
        }
    }

    @Test func `an encrypted push goes on at the page that failed`() async throws {
        let (first, second) = (UUID(), UUID())
        let failing = try client([
            try page(next: "c1"), sent(first), try page(next: nil), (503, #"{"message":"later"}"#),
        ])
        let error = await #expect(throws: EncryptedPushError.self) {
            try await failing.pushEncrypted("Hello", to: .everyone, for: Self.app, idempotencyKey: "k")
        }
        #expect(error?.sent == [first] && error?.cursor == "c1")
        #expect(error?.reason == .refused(status: 503, reason: "later"))
        #expect(asked.compactMap(\.idempotencyKey) == ["k-0", "k-c1"])
        let again = try client([try page(next: nil), sent(second)])
        let pushes = try await again.pushEncrypted(
            "Hello", to: .everyone, for: Self.app, after: error?.cursor, idempotencyKey: "k")
        #expect(pushes == [second])
        #expect(asked.compactMap(\.idempotencyKey) == ["k-c1"])
    }
}

/// Answers the requests of a session in the place of a server.
private final class ScriptedAnswers: URLProtocol {
    struct Asked: Sendable {
        let path: String
        let idempotencyKey: String?
    }

    static let held = Mutex<(asked: [Asked], answers: [(status: Int, body: String)])>(([], []))

    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        let key = request.value(forHTTPHeaderField: "Idempotency-Key")
        let asked = Asked(path: request.url?.path ?? "", idempotencyKey: key)
        let answer = Self.held.withLock { held in
            held.asked.append(asked)
            return held.answers.isEmpty ? nil : held.answers.removeFirst()
        }
        guard let answer, let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: nil)
        else {
            client?.urlProtocol(self, didFailWithError: URLError(.notConnectedToInternet))
            return
        }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data(answer.body.utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}
