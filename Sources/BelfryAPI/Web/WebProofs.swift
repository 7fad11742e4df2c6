import BelfryService
import Crypto
import FoundationEssentials
import HTTPTypes

extension Web {
    /// Proves that a browser exists before it is registered: a code is pushed to it, which it has to send back.
    ///
    /// The server keeps nothing meanwhile: the code is a seal over the subscription and the time until which it counts.
    struct Proofs: Sendable {
        let vault: any Vault
        let providers: any ProviderDirectory
        let clock: any WallClock

        /// A browser that is slow to connect to its push service still makes it.
        static let validFor = Duration.seconds(600)

        /// Whether the code was made for this subscription, on this platform, not long ago.
        func isProven(_ token: DeviceToken, by code: String, on platform: Platform) -> Bool {
            guard let sealed = Base64.decodeURL(code.utf8),
                let opened = try? vault.open(
                    Sealed(bytes: sealed), for: VaultPurpose.proof(on: platform.uuid)), opened.count == 40
            else { return false }
            let until = opened[..<8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
            return clock.now.milliseconds <= until && Array(opened[8...]) == Self.digest(of: token)
        }

        /// Pushes a code to a browser, and returns what its push service answered.
        func send(to token: DeviceToken, on platform: Platform) async throws -> Outcome {
            let provider = try await providers.provider(for: platform)
            let now = clock.now
            let content = Push.Content(
                body: nil, custom: ["web": .object(["proof": .string(try code(for: token, on: platform))])])
            let push = Push(
                key: Key(0), receiptID: UUID(), applicationKey: platform.applicationKey, content: content,
                audience: .any([]), lane: .urgent, guarantee: .atMostOnce, acceptedAt: now,
                expiresAt: now + Self.validFor)
            return await provider.send(push, to: [Recipient(device: Key(0), token: token)])[0]
        }

        private func code(for token: DeviceToken, on platform: Platform) throws -> String {
            let until = (clock.now + Self.validFor).milliseconds
            let content = withUnsafeBytes(of: until.bigEndian) { Array($0) } + Self.digest(of: token)
            return Base64.encodeURL(try vault.seal(content, for: VaultPurpose.proof(on: platform.uuid)).bytes)
        }

        private static func digest(of token: DeviceToken) -> [UInt8] { Array(SHA256.hash(data: token.bytes)) }
    }
}

extension Outcome {
    /// Why a push service did not take the push that proves a registration; nil where it did.
    var proofFault: APIError? {
        switch self {
        case .accepted, .moved: nil
        case .gone: APIError(.unprocessableContent, "The subscription has ended: its push service knows it no more")
        case .refused(let refusal, _):
            APIError(.unprocessableContent, "The subscription cannot be used: its push service answered \(refusal)")
        case .throttled, .failed, .unreachable, .unanswered, .credentialsRefused, .held:
            APIError(
                .serviceUnavailable, "The push service of the subscription cannot be reached now",
                headers: [.retryAfter: "30"])
        }
    }
}
