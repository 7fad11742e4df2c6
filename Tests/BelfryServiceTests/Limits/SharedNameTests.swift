import BelfryTesting
import Crypto
import Foundation
import HTTPTypes
import SwiftASN1
import Testing
import X509

@testable import BelfryService

/// Names that all tenants share are claimed by an operator's word, and no tenant has them without end.
@Suite struct SharedNameTests {
    private static func mediator(
        _ server: TestAdminServer, _ application: Application, as key: String? = nil, _ fields: String = ""
    ) async throws -> TestAnswer {
        try await server.send(
            .post, "apps/\(application.uuid.lowercased)/acrobits/mediator", as: key,
            #"{"allowed":["10.0.0.0/8"]\#(fields)}"#)
    }

    @Test func `only an operator opens the path without a key`() async throws {
        let server = try await TestAdminServer()
        let own = try await server.resources("own")
        let key = try await server.key(.appAdmin, .application(own.application.key, of: own.tenant.key))
        let keyed = try await Self.mediator(server, own.application, as: key)
        #expect(keyed.status == 201 && keyed.text.contains(#""plain_path":false"#))
        #expect(!keyed.text.contains(#""/pnm2/send""#), "\(keyed.text)")
        let refused = try await Self.mediator(server, own.application, as: key, #","plain_path":true"#)
        #expect(refused.status == 403)
        // Not by the way of all open endpoints either.
        let endpoint = try await server.send(
            .post, "apps/\(own.application.uuid.lowercased)/open-endpoints", as: key,
            #"{"kind":"acrobits-mediator","allowed":["0.0.0.0/0"],"options":{"plain_path":"true"}}"#)
        #expect(endpoint.status == 201 && endpoint.text.contains(#""plain_path":false"#), "\(endpoint.text)")
        let asked = try await server.send(
            .post, "apps/\(own.application.uuid.lowercased)/open-endpoints", as: key,
            #"{"kind":"acrobits-mediator","allowed":["0.0.0.0/0"],"plain_path":true}"#)
        #expect(asked.status == 403, "\(asked)")
        #expect(try await server.store.plainOpenEndpoints(.acrobitsMediator).isEmpty)
        let plain = try await Self.mediator(server, own.application)
        #expect(plain.status == 201 && plain.text.contains(#""/pnm2/send""#), "\(plain.text)")
    }

    @Test func `a network without a key is refused to another tenant`() async throws {
        let server = try await TestAdminServer()
        let own = try await server.resources("own")
        let tenant = try await server.admin.createTenant(name: try Name("other"), by: TestAdminServer.author)
        let other = try await server.resources("other", of: tenant.key)
        #expect(try await Self.mediator(server, own.application).status == 201)
        let taken = try await Self.mediator(server, other.application)
        #expect(taken.status == 409 && taken.text.contains("10.0.0.0/8"), "\(taken.text)")
        #expect(try await Self.mediator(server, other.application, #","plain_path":false"#).status == 201)
    }

    @Test func `only operators claim an app id again without its key`() async throws {
        let server = try await TestAdminServer()
        let (first, second) = (try await server.resources("first"), try await server.resources("second"))
        let key = try await server.key(.appAdmin, .application(second.application.key, of: second.tenant.key))
        func claim(as key: String?) async throws -> TestAnswer {
            try await server.send(
                .post, "apps/\(second.application.uuid.lowercased)/acrobits/app-ids", as: key,
                #"{"app_id":"claimed","platform_uuid":"\#(second.platform.uuid.lowercased)"}"#)
        }
        try await server.store.set(
            AcrobitsAppID(
                name: "claimed", applicationKey: first.application.key, platformKey: first.platform.key))
        _ = try await Self.mediator(server, first.application)
        // Its own path is no business of others.
        #expect(try await claim(as: key).status == 201)
        _ = try await server.store.deleteAcrobitsAppID("claimed", of: second.application.key)
        _ = try await Self.mediator(server, second.application)
        #expect(try await claim(as: key).status == 409)
        #expect(try await claim(as: nil).status == 201)
    }

    @Test func `open endpoints per application and tenant are limited`() async throws {
        let server = try await TestAdminServer()
        let own = try await server.resources("own")
        let key = try await server.key(.appAdmin, .application(own.application.key, of: own.tenant.key))
        func statuses(_ count: Int) async throws -> Set<Int> {
            var statuses: Set<Int> = []
            for _ in 0..<count {
                statuses.insert(try await Self.mediator(server, own.application, as: key).status)
            }
            return statuses
        }
        // One was there.
        #expect(try await statuses(RowLimit.openEndpoints.most - 1) == [201])
        #expect(try await statuses(2) == [409])
        let new = try NewOpenEndpoint(kind: .genero, application: own.application.key, keyHash: [])
        #expect(throws: StoreError.self) {
            try OpenEndpoint.check(new, count: (0, RowLimit.tenantOpenEndpoints.most), plain: [])
        }
        #expect(throws: Never.self) {
            try OpenEndpoint.check(new, count: (0, RowLimit.tenantOpenEndpoints.most - 1), plain: [])
        }
    }

    private static func certificate() throws -> (der: [UInt8], key: P256.Signing.PrivateKey) {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("sender") }
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
            notValidBefore: now, notValidAfter: now + 86_400, issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: Certificate.Extensions(), issuerPrivateKey: .init(key))
        return (try certificate.serializeAsPEM().derBytes, key)
    }

    @Test func `the holder of a gateway certificate's key claims it`() async throws {
        let server = try await TestAdminServer()
        let own = try await server.resources("own")
        let key = try await server.key(.appAdmin, .application(own.application.key, of: own.tenant.key))
        let (der, signer) = try Self.certificate()
        let fingerprint = Array(SHA256.hash(data: der)).hex
        func enter(as key: String?, _ text: String? = nil, by signer: P256.Signing.PrivateKey) async throws -> Int {
            var body = #"{"fingerprint":"\#(fingerprint)""#
            if let text {
                let proof = try signer.signature(for: Data(text.utf8)).derRepresentation
                body += #","certificate":"\#(Data(der).base64EncodedString())","#
                body += #""proof":"\#(proof.base64EncodedString())""#
            }
            return try await server.send(
                .post, "platforms/\(own.platform.uuid.lowercased)/gateway-credentials", as: key, body + "}"
            ).status
        }
        let text = CertificateProof.text(for: own.platform.uuid)
        #expect(try await enter(as: key, by: signer) == 403)
        #expect(try await enter(as: key, CertificateProof.text(for: UUID()), by: signer) == 403)
        #expect(try await enter(as: key, text, by: P256.Signing.PrivateKey()) == 403)
        #expect(try await enter(as: key, text, by: signer) == 201)
        #expect(try await enter(as: nil, by: signer) == 409)
    }
}
