import CryptoExtras
import Foundation
import HTTPExchange
import Testing

@testable import FCM

/// A service account as the Firebase console hands it out.
struct SampleAccount {
    let key: _RSA.Signing.PrivateKey

    init() throws { key = try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    func json(_ change: (inout [String: String]) -> Void = { _ in }) throws -> [UInt8] {
        var members = [
            "type": "service_account", "project_id": "my-bakery", "private_key_id": "0123abcd",
            "private_key": key.pkcs8PEMRepresentation, "client_email": "belfry@my-bakery.iam.gserviceaccount.com",
            "client_id": "1", "token_uri": "https://oauth2.googleapis.com/token",
        ]
        change(&members)
        return Array(try JSONSerialization.data(withJSONObject: members))
    }
}

@Suite struct ServiceAccountTests {
    private static func decoded(_ part: Substring) throws -> Data {
        let standard = part.replacing("-", with: "+").replacing("_", with: "/")
        return try #require(Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)))
    }

    @Test func `an assertion is an RS256 JWT that its public key verifies`() throws {
        let account = try SampleAccount()
        let credentials = try FCMCredentials(serviceAccount: account.json())
        let parts = try credentials.key.assertion(at: 1_700_000_000).split(separator: ".")
        try #require(parts.count == 3)
        let head = try JSONDecoder().decode([String: String].self, from: Self.decoded(parts[0]))
        #expect(head == ["alg": "RS256", "typ": "JWT", "kid": "0123abcd"])
        let claims = String(decoding: try Self.decoded(parts[1]), as: UTF8.self)
        #expect(
            claims == #"{"aud":"https://oauth2.googleapis.com/token","exp":1700003600,"iat":1700000000,"#
                + #""iss":"belfry@my-bakery.iam.gserviceaccount.com","#
                + #""scope":"https://www.googleapis.com/auth/firebase.messaging"}"#)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: try Self.decoded(parts[2]))
        #expect(
            account.key.publicKey.isValidSignature(
                signature, for: Data("\(parts[0]).\(parts[1])".utf8), padding: .insecurePKCS1v1_5))
    }

    @Test func `the request for a token is a form of two fields`() {
        #expect(
            String(decoding: TokenServer.body("aa.bb.cc"), as: UTF8.self)
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=aa.bb.cc")
    }

    @Test(arguments: [
        ("type", "authorized_user", "of type authorized_user"), ("project_id", "", "project_id is missing"),
        ("client_email", "a b@c", "client_email holds"), ("private_key", "none", "not an RSA private key"),
        ("token_uri", "http://example.org", "has to be https"),
    ])
    func `a service account that cannot be used is refused with the reason`(
        field: String, value: String, words: String
    ) throws {
        let json = try SampleAccount().json { $0[field] = value }
        let error = #expect(throws: FCMCredentialsError.self) { try FCMCredentials(serviceAccount: json) }
        #expect(error?.reason.contains(words) == true, "\(String(describing: error))")
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"project_id":1}"#, #"{"project_id":"p","client_email":"e"}"#])
    func `bytes that are no service account are refused`(text: String) {
        #expect(throws: FCMCredentialsError.self) { try FCMCredentials(serviceAccount: Array(text.utf8)) }
    }

    private static func grant(_ status: Int, _ body: String) -> Result<AccessGrant, AccessTokenError> {
        TokenServer.grant(.response(HTTPReply(status: status, body: Array(body.utf8))), url: "https://o")
    }

    @Test func `a token is taken with its life`() {
        #expect(
            Self.grant(200, #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#)
                == .success(AccessGrant(token: "ya29.x", lifetime: .seconds(3_599))))
        #expect(
            Self.grant(200, #"{"access_token":"x"}"#) == .success(AccessGrant(token: "x", lifetime: .seconds(3_600))))
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#, true), (401, "", true),
        (403, "<p>", true),
        (429, "", false), (500, "", false), (503, "{}", false), (200, "{}", false), (200, "", false),
        (200, #"{"access_token":"a\r\nb"}"#, false), (302, "", false),
    ])
    func `who is refused by the token server must act, who finds it in trouble tries again`(
        status: Int, body: String, isRefusal: Bool
    ) throws {
        guard case .failure(let error) = Self.grant(status, body) else {
            Issue.record("a token came of \(status) \(body)")
            return
        }
        #expect(error.isRefusal == isRefusal)
        #expect(error.reason.contains("\(status)"))
    }
}
