import BelfryTesting
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

@Suite struct WebSDKTests {
    @Test(arguments: ["belfry.js": 10 << 10, "belfry-worker.js": 11 << 9, "belfry-encryption.js": 9 << 9])
    func `a site loads little`(name: String, bytesMax: Int) throws {
        let file = try #require(WebSDK.files.first { $0.name == name })
        #expect(1...bytesMax ~= file.bytes.readableBytes, "\(file.bytes.readableBytes)")
    }

    @Test func `hashes match their files and hashed addresses cache for good`() async throws {
        try await Self.with { client in
            let list = try JSONDecoder().decode(
                Integrity.self,
                from: Data(
                    try await client.execute(uri: "/sdk/web/v1/integrity.json", method: .get).body.readableBytesView))
            #expect(list.files.count == WebSDK.files.count)
            for file in list.files {
                let answer = try await client.execute(uri: file.url, method: .get)
                #expect(answer.body.readableBytes == file.bytes)
                let hash = Data(SHA384.hash(data: Data(answer.body.readableBytesView))).base64EncodedString()
                #expect(file.integrity == "sha384-\(hash)")
                #expect(answer.headers[.cacheControl]?.contains("immutable") == true)
                let plain = try await client.execute(uri: "/sdk/web/v1/\(file.name)", method: .get)
                #expect(plain.headers[.cacheControl]?.contains("immutable") == false)
                let tag = try #require(plain.headers[.eTag])
                let again = try await client.execute(
                    uri: "/sdk/web/v1/\(file.name)", method: .get, headers: [.ifNoneMatch: tag])
                #expect(again.status == .notModified && again.body.readableBytes == 0)
            }
        }
    }

    @Test func `any site loads the script; only page and worker execute`() async throws {
        try await Self.with { client in
            for (name, policy) in [
                ("belfry.js", "default-src 'none'; frame-ancestors 'none'"), ("test", "script-src 'self'"),
                ("belfry-worker.js", "connect-src 'self'"),
            ] {
                let answer = try await client.execute(uri: "/sdk/web/v1/\(name)", method: .get)
                #expect(answer.headers[.accessControlAllowOrigin] == "*")
                #expect(answer.headers[.xContentTypeOptions] == "nosniff")
                #expect(answer.headers[values: .contentSecurityPolicy].count == 1)
                #expect(answer.headers[.contentSecurityPolicy]?.contains(policy) == true, "\(answer.headers)")
            }
        }
    }

    private struct Integrity: Decodable {
        let files: [File]

        struct File: Decodable {
            let name: String
            let bytes: Int
            let integrity: String
            let url: String
        }
    }

    private static func with(_ body: @Sendable (any TestClientProtocol) async throws -> Void) async throws {
        let router = ResponseMiddleware.router(clock: ManualClock())
        WebSDK().add(to: router)
        try await Hummingbird.Application(router: router).test(.router) { try await body($0) }
    }
}
