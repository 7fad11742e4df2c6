import BelfryService
import Crypto

/// A custom user id that a back end signed for its app, so that no app can pose as another user.
///
/// A compact JWS, `b64url(header).b64url(payload).b64url(signature)`, signed by HMAC-SHA256 with the application's shared
/// secret over the text as received. Source: RFC 7515 §5.2; "Custom user ID format" of PCF Push 1.9.
enum SignedUserID {
    /// The signed id. Throws on everything else, and names the part that is wrong.
    ///
    /// - Parameter secrets: each of them may have signed it.
    static func opened(_ token: String, with secrets: [SymmetricKey]) throws(InvalidInput) -> String {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64.decodeURL(parts[0]), let payload = Base64.decodeURL(parts[1]),
            let signature = Base64.decodeURL(parts[2])
        else {
            throw fault("has to be signed: a token of three parts in base64url, 'header.payload.signature'")
        }
        try check(header: header)
        let signed = Array(token.utf8[..<parts[1].endIndex])
        let isSigned = secrets.contains {
            HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: signed, using: $0)
        }
        guard isSigned else {
            throw fault("is signed with another secret than the shared secret of the application")
        }
        return try id(in: payload)
    }

    /// Accepts only the one algorithm, and no critical extension. Other members do not matter.
    private static func check(header: [UInt8]) throws(InvalidInput) {
        var algorithm: String?
        var isCritical = false
        do {
            try JSONReader.document(header) { reader, key throws(InvalidInput) in
                switch key {
                case "alg": algorithm = try reader.string("alg")
                case "crit":
                    isCritical = true
                    try reader.skip()
                default: try reader.skip()
                }
            }
        } catch {
            throw fault("has a header that is not a JSON object")
        }
        guard algorithm == "HS256", !isCritical else { throw fault("has to be signed with HS256 and nothing else") }
    }

    private static func id(in payload: [UInt8]) throws(InvalidInput) -> String {
        var id: String?
        do {
            try JSONReader.document(payload) { reader, key throws(InvalidInput) in
                if key == "custom_user_id" { id = try reader.string(key) } else { try reader.skip() }
            }
        } catch {
            throw fault("has a payload that is not {\"custom_user_id\":\"…\"}")
        }
        guard let id, !id.isEmpty else { throw fault("has a payload without a custom_user_id") }
        return id
    }

    private static func fault(_ problem: String) -> InvalidInput {
        InvalidInput(field: "custom_user_id", problem)
    }
}
