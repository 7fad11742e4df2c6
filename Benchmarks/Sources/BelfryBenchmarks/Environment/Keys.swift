import Crypto
import Foundation

/// The files of a simulator that a sender needs, so that the simulator believes it.
struct Keys: Sendable {
    let directory: String
    let p8: String
    let keyID: String
    let teamID: String
    let authority: String

    static func read(_ directory: String) throws -> Keys {
        func file(_ name: String) throws -> String {
            try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
        }
        return Keys(
            directory: directory, p8: try file("key.p8"), keyID: try file("key-id"), teamID: try file("team-id"),
            authority: try file("ca.pem"))
    }

    var keyFile: String { "\(directory)/key.p8" }
    var authorityFile: String { "\(directory)/ca.pem" }

    /// A provider token for senders that cannot sign one. Source: RFC 7515, RFC 7518 §3.4.
    func jwt() throws -> String {
        func base64URL(_ data: Data) -> String {
            data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
        }
        let head = base64URL(Data(#"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#.utf8))
        let claims = base64URL(Data(#"{"iss":"\#(teamID)","iat":\#(Int(Date().timeIntervalSince1970))}"#.utf8))
        let key = try P256.Signing.PrivateKey(pemRepresentation: p8)
        let signature = try key.signature(for: Data("\(head).\(claims)".utf8))
        return "\(head).\(claims).\(base64URL(signature.rawRepresentation))"
    }
}
