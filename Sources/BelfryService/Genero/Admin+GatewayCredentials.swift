import FoundationEssentials
import Hummingbird

extension Admin {
    /// Client certificates of the binary gateway: `/admin/v1/platforms/:platform_uuid/gateway-credentials`.
    struct GatewayCredentials: Sendable {
        let factory: RouteFactory
        private var credentials: GatewayCredentialService { GatewayCredentialService(store: factory.store) }

        var routes: [Route] {
            let path = "platforms/:platform_uuid/gateway-credentials"
            return [
                factory.platform(.get, path, .read, list),
                factory.platform(.post, path, .change, create),
                factory.platform(.delete, "\(path)/:credential_id", .change, delete),
            ]
        }

        private func list(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let found = try await factory.store.gatewayCredentials(of: platform.key)
            return try Response(
                GatewayCredentialsReply(gateway_credentials: found.map(GatewayCredentialReply.init)))
        }

        private func create(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewCredential.self)
            if call.key.scope != .operator { try body.checkProof(for: platform, at: factory.clock.now) }
            let made = try await credentials.create(
                try body.required(at: factory.clock.now), expiresAt: body.expiresAt, on: platform, of: application,
                by: call.author)
            return try .created(GatewayCredentialReply(made))
        }

        private func delete(_ call: Call, _ platform: Platform, _ application: Application) async throws -> Response {
            let key: Key<GatewayCredential> = try call.key("credential_id").orMissing("gateway credential")
            try await credentials.delete(key, on: platform, of: application, by: call.author)
            return Response(status: .noContent)
        }
    }

    private struct NewCredential: Body, Sendable {
        static let fields = ["fingerprint", "expires_at", "certificate", "proof"]
        private var fingerprint: [UInt8]?
        private var certificate: [UInt8]?
        private var proof: [UInt8]?
        private(set) var expiresAt: Instant?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "fingerprint":
                if let text = try reader.string(field) { fingerprint = try GatewayCredential.fingerprint(text) }
            case "certificate": certificate = try Self.bytes(field, from: &reader)
            case "proof": proof = try Self.bytes(field, from: &reader)
            default: expiresAt = try reader.instant(field)
            }
        }

        private static func bytes(_ field: String, from reader: inout JSONReader) throws(InvalidInput) -> [UInt8]? {
            guard let text = try reader.string(field) else { return nil }
            guard let bytes = Data(base64Encoded: text) else { throw InvalidInput(field: field, "is no Base64") }
            return Array(bytes)
        }

        /// Throws a 403 unless the caller has the certificate's key.
        func checkProof(for platform: Platform, at now: Instant) throws {
            let fingerprint = try required(at: now)
            guard let certificate, let proof,
                CertificateProof.isValid(proof, by: certificate, with: fingerprint, for: platform.uuid)
            else {
                throw APIError(
                    .forbidden,
                    "A fingerprint alone is for operators' keys. Others give `certificate` too, in DER, and `proof`, the signature of "
                        + "'\(CertificateProof.text(for: platform.uuid))' by its key with SHA-256, both in Base64")
            }
        }

        func required(at now: Instant) throws(InvalidInput) -> [UInt8] {
            if let expiresAt, expiresAt <= now { throw InvalidInput.over("expires_at", expiresAt, now) }
            return try fingerprint.given(as: "fingerprint")
        }
    }
}

/// Creates and deletes the client certificates of senders at the binary gateway. Each change leaves a line in the audit log.
package struct GatewayCredentialService: Sendable {
    private let store: any Store

    package init(store: any Store) { self.store = store }

    /// - Parameter platform: of a type whose tokens fit Apple's binary protocol.
    package func create(
        _ fingerprint: [UInt8], expiresAt: Instant?, on platform: Platform, of application: Application,
        by author: AuditAuthor
    ) async throws -> GatewayCredential {
        guard platform.kind == .ios || platform.kind == .apple(.voip) else {
            throw InvalidInput(
                field: "platform_uuid", "is of type \(platform.kind.rawValue), the gateway takes ios and ios-voip")
        }
        let change = AuditedChange(
            by: author, "gateway_credential.create", platform, of: application, ["fingerprint": fingerprint.hex])
        return try await store.audited(change) {
            try await store.createGatewayCredential(fingerprint, expiresAt: expiresAt, on: platform.key)
        }
    }

    package func delete(
        _ credential: Key<GatewayCredential>, on platform: Platform, of application: Application,
        by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, "gateway_credential.delete", platform, of: application, ["credential": "\(credential)"])
        try await store.audited(change, orUnknown: "gateway credential") {
            try await store.delete(credential, of: platform.key)
        }
    }
}
