import FoundationEssentials
import Outbound

/// How a client authenticates to Huawei, and which version of Push Kit's API it uses.
///
/// Source: Huawei, Push Kit REST API, v1 for an app, v2 for a project, v3 for HarmonyOS 5 and later.
public struct HMSCredentials: Sendable {
    /// The path before `/messages:send`.
    let path: String
    let proof: Proof

    enum Proof: Sendable {
        /// Exchanged for an access token.
        case secret(clientID: String, secret: String)
        /// Signs the access tokens itself.
        case key(HMSServiceAccountKey)
    }

    /// The app's id and secret, as AppGallery Connect shows them.
    ///
    /// - Parameter projectID: nil for v1, otherwise v2 is used for the project.
    public init(appID: String, appSecret: String, projectID: String? = nil) throws(HMSCredentialsError) {
        try Self.check(appID, "app id")
        if let projectID { try Self.check(projectID, "project id") }
        guard Outbound.isWord(appSecret) else {
            throw HMSCredentialsError("the app secret is empty or holds other than visible ASCII")
        }
        path = projectID.map { "/v2/\($0)" } ?? "/v1/\(appID)"
        proof = .secret(clientID: appID, secret: appSecret)
    }

    /// For v3.
    ///
    /// - Parameter serviceAccount: the bytes of the JSON file that Huawei's API console issues.
    public init(serviceAccount: [UInt8]) throws(HMSCredentialsError) {
        guard let file = try? JSONDecoder().decode(File.self, from: Data(serviceAccount)) else {
            throw HMSCredentialsError(
                "the service account is not JSON with project_id, key_id, private_key and sub_account")
        }
        try Self.check(file.project_id, "project_id")
        path = "/v3/\(file.project_id)"
        proof = .key(
            try HMSServiceAccountKey(pem: file.private_key, keyID: file.key_id, subAccount: file.sub_account))
    }

    /// Whether v3 is used.
    public var isServiceAccount: Bool { if case .key = proof { true } else { false } }

    private struct File: Decodable {
        let project_id: String
        let key_id: String
        let private_key: String
        let sub_account: String
    }

    /// It is put into a path unescaped.
    private static func check(_ id: String, _ name: String) throws(HMSCredentialsError) {
        guard !id.isEmpty, id.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw HMSCredentialsError("the \(name) has to be digits")
        }
    }
}

/// Why credentials cannot be used.
public struct HMSCredentialsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A human-readable reason; contains no secret.
    public let reason: String

    public var description: String { reason }

    init(_ reason: String) { self.reason = reason }
}
