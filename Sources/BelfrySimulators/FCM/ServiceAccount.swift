import CryptoExtras
import FoundationEssentials

/// Both halves of a Google service account: the key that signs assertions and the key that verifies them.
package struct ServiceAccount: Sendable {
    package let email: String
    package let keyID: String
    package let projectID: String
    let key: _RSA.Signing.PrivateKey

    /// Made once for each process, since RSA keys are expensive.
    private static let sharedKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// - Parameter ownKey: whether its key differs from those of the process's other accounts.
    package init(
        projectID: String, keyID: String = "0123456789abcdef0123456789abcdef01234567", ownKey: Bool = false
    ) throws {
        self.projectID = projectID
        self.keyID = keyID
        self.email = "sender@\(projectID).iam.gserviceaccount.com"
        self.key = try ownKey ? _RSA.Signing.PrivateKey(keySize: .bits2048) : Self.sharedKey.get()
    }

    /// The account in the file of an earlier start; nil when it is none of this project's.
    package init?(projectID: String, json: String) {
        guard let read = try? JSONDecoder().decode(Written.self, from: Data(json.utf8)), read.project_id == projectID,
            let key = try? _RSA.Signing.PrivateKey(pemRepresentation: read.private_key)
        else { return nil }
        self.projectID = projectID
        keyID = read.private_key_id
        email = read.client_email
        self.key = key
    }

    private struct Written: Decodable {
        let project_id: String
        let private_key_id: String
        let private_key: String
        let client_email: String
    }

    package var privateKeyPEM: String { key.pkcs8PEMRepresentation }

    /// The file of the Firebase console.
    package func json(tokenURL: String) -> String {
        """
        {"type":"service_account","project_id":\(projectID.quoted),"private_key_id":\(keyID.quoted),\
        "private_key":\((privateKeyPEM + "\n").quoted),"client_email":\(email.quoted),\
        "client_id":"100000000000000000001","auth_uri":"https://accounts.google.com/o/oauth2/auth",\
        "token_uri":\(tokenURL.quoted),"universe_domain":"googleapis.com"}
        """
    }
}
