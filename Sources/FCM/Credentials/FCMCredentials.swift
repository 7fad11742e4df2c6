import FoundationEssentials

/// How a client authenticates to Google: with the key of a service account, in the JSON file of the Firebase console.
public struct FCMCredentials: Sendable {
    public let projectID: String
    public let clientEmail: String
    /// The address where the key is exchanged for a token that FCM accepts.
    public let tokenURI: String
    let key: ServiceAccountKey

    /// - Parameter serviceAccount: the bytes of the JSON file.
    public init(serviceAccount: [UInt8]) throws(FCMCredentialsError) {
        guard let file = try? JSONDecoder().decode(File.self, from: Data(serviceAccount)) else {
            throw FCMCredentialsError(.file, "the service account is not the JSON that the Firebase console hands out")
        }
        guard file.project_info == nil else {
            throw FCMCredentialsError(
                .file,
                "this is google-services.json, which is for the app and holds no private key. A service account is needed: Firebase "
                    + "console, project settings, \"Service accounts\", \"Generate new private key\"")
        }
        if let type = file.type, type != "service_account" {
            throw FCMCredentialsError(.file, "the JSON is of type \(type), it has to be of type service_account")
        }
        projectID = try Self.plain(file.project_id, "project_id")
        clientEmail = try Self.plain(file.client_email, "client_email")
        tokenURI = try Self.plain(file.token_uri ?? "https://oauth2.googleapis.com/token", "token_uri")
        guard tokenURI.hasPrefix("https://") else {
            throw FCMCredentialsError(.file, "token_uri is \(tokenURI), it has to be https")
        }
        guard let pem = file.private_key else {
            throw FCMCredentialsError(.file, "private_key is missing in the service account")
        }
        key = try ServiceAccountKey(
            pem: pem, keyID: file.private_key_id, clientEmail: clientEmail, audience: tokenURI)
    }

    /// Source: Google, "Using OAuth 2.0 for Server to Server Applications".
    private struct File: Decodable {
        let type: String?
        let project_id: String?
        let client_email: String?
        let private_key_id: String?
        let private_key: String?
        let token_uri: String?
        /// Only in `google-services.json`, the configuration of Android apps.
        let project_info: ProjectInfo?

        struct ProjectInfo: Decodable {}
    }

    /// They are put into a path and into JSON unescaped.
    private static func plain(_ text: String?, _ field: String) throws(FCMCredentialsError) -> String {
        guard let text, !text.isEmpty else {
            throw FCMCredentialsError(.file, "\(field) is missing in the service account")
        }
        let isPlain = text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard isPlain else { throw FCMCredentialsError(.file, "\(field) contains invalid characters") }
        return text
    }
}

/// Why credentials cannot be used.
public struct FCMCredentialsError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable {
        private let number: UInt8

        /// The JSON is not a service account, or a field is missing.
        public static let file = Code(number: 1)
        /// The private key is not an RSA key of 2,048 bits or more in PEM.
        public static let key = Code(number: 2)
        public static let trustRoots = Code(number: 3)
        /// TLS did not accept the configuration.
        public static let tls = Code(number: 4)
        /// Signing failed.
        public static let signing = Code(number: 5)
    }

    public let code: Code
    /// A human-readable reason; contains no secret.
    public let reason: String

    public var description: String { reason }

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
